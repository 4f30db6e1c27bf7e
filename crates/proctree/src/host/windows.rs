//! Windows or Wine: Wine counts memory differently, so a record must name it.
#![expect(unsafe_code, reason = "the Windows API is C")]

use std::ffi::CStr;
use std::ffi::c_char;

use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleA, GetProcAddress};

use record::Host;

/// Adds Wine and its version to the reported Windows version.
pub(super) fn complete(mut host: Host) -> Host {
    if let Some(version) = wine() {
        let system = host.distribution.as_deref().unwrap_or("Windows");
        host.distribution = Some(format!("{system} under Wine {version}"));
    }
    host
}

/// The version of Wine; only its `ntdll` exports the function.
fn wine() -> Option<String> {
    // SAFETY: the names are C strings, and a library that every process has stays loaded.
    let function = unsafe {
        let library = GetModuleHandleA(c"ntdll.dll".as_ptr().cast());
        GetProcAddress(library, c"wine_get_version".as_ptr().cast())
    }?;
    // SAFETY: `wine_get_version` is declared so in Wine's sources: no argument, a static C string.
    let version: extern "C" fn() -> *const c_char = unsafe { std::mem::transmute(function) };
    let text = version();
    if text.is_null() {
        return None;
    }
    // SAFETY: it is not null, ends with a zero and is never freed.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}
