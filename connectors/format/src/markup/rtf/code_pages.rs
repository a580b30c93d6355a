//! The code pages of RTF by their numbers.

use encoding_rs::{Encoding, WINDOWS_1252};

/// Returns the encoding of a Windows or Macintosh code page.
pub(super) fn code_page(number: i32) -> Option<&'static Encoding> {
    Some(match number {
        874 => encoding_rs::WINDOWS_874,
        866 => encoding_rs::IBM866,
        932 => encoding_rs::SHIFT_JIS,
        936 => encoding_rs::GBK,
        949 => encoding_rs::EUC_KR,
        950 => encoding_rs::BIG5,
        1250 => encoding_rs::WINDOWS_1250,
        1251 => encoding_rs::WINDOWS_1251,
        1252 => WINDOWS_1252,
        1253 => encoding_rs::WINDOWS_1253,
        1254 => encoding_rs::WINDOWS_1254,
        1255 => encoding_rs::WINDOWS_1255,
        1256 => encoding_rs::WINDOWS_1256,
        1257 => encoding_rs::WINDOWS_1257,
        1258 => encoding_rs::WINDOWS_1258,
        10_000 => encoding_rs::MACINTOSH,
        65_001 => encoding_rs::UTF_8,
        _ => return None,
    })
}

/// Returns the encoding of a font's character set; `None` for those that follow the document.
pub(super) fn charset(number: i32) -> Option<&'static Encoding> {
    code_page(match number {
        77 => 10_000,
        128 => 932,
        129 => 949,
        134 => 936,
        136 => 950,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        _ => return None,
    })
}
