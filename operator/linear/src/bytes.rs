//! Little-endian numbers as bytes, for model and state files.

/// The bytes end too early, or continue after their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Writes numbers.
#[derive(Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    pub(crate) fn f32(&mut self, value: f32) {
        self.bytes(&value.to_le_bytes());
    }

    pub(crate) fn f64(&mut self, value: f64) {
        self.bytes(&value.to_le_bytes());
    }

    pub(crate) fn f32s(&mut self, values: &[f32]) {
        self.u64(values.len() as u64);
        values.iter().for_each(|&value| self.f32(value));
    }

    pub(crate) fn f64s(&mut self, values: &[f64]) {
        self.u64(values.len() as u64);
        values.iter().for_each(|&value| self.f64(value));
    }

    /// Writes values that are mostly 0: a mask for each eight, then the nonzero ones.
    pub(crate) fn sparse(&mut self, values: &[f32]) {
        self.u64(values.len() as u64);
        for eight in values.chunks(8) {
            let at = self.0.len();
            self.0.push(0);
            for (i, &value) in eight.iter().enumerate() {
                // Compared by bits, so that -0 stays -0.
                if value.to_bits() != 0 {
                    self.0[at] |= 1 << i;
                    self.f32(value);
                }
            }
        }
    }
}

/// Reads the numbers.
pub(crate) struct Reader<'b>(pub(crate) &'b [u8]);

impl<'b> Reader<'b> {
    pub(crate) fn bytes(&mut self, n: usize) -> Result<&'b [u8], Malformed> {
        let (head, rest) = self.0.split_at_checked(n).ok_or(Malformed)?;
        self.0 = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.bytes(N)?.try_into().map_err(|_| Malformed)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn f32(&mut self) -> Result<f32, Malformed> {
        self.array().map(f32::from_le_bytes)
    }

    pub(crate) fn f64(&mut self) -> Result<f64, Malformed> {
        self.array().map(f64::from_le_bytes)
    }

    /// Reads a length, and refuses it if fewer bytes remain: damaged files must not cause large allocations.
    pub(crate) fn length(&mut self, least: usize) -> Result<usize, Malformed> {
        let n = usize::try_from(self.u64()?).map_err(|_| Malformed)?;
        if n.checked_mul(least).is_some_and(|bytes| bytes <= self.0.len()) {
            Ok(n)
        } else {
            Err(Malformed)
        }
    }

    pub(crate) fn f32s(&mut self) -> Result<Vec<f32>, Malformed> {
        let n = self.length(4)?;
        (0..n).map(|_| self.f32()).collect()
    }

    pub(crate) fn f64s(&mut self) -> Result<Vec<f64>, Malformed> {
        let n = self.length(8)?;
        (0..n).map(|_| self.f64()).collect()
    }

    pub(crate) fn sparse(&mut self) -> Result<Vec<f32>, Malformed> {
        let n = usize::try_from(self.u64()?).map_err(|_| Malformed)?;
        if n.div_ceil(8) > self.0.len() {
            return Err(Malformed);
        }
        let mut values = vec![0.0; n];
        for eight in values.chunks_mut(8) {
            let mask = self.u8()?;
            for (i, value) in eight.iter_mut().enumerate() {
                if mask >> i & 1 == 1 {
                    *value = self.f32()?;
                }
            }
        }
        Ok(values)
    }

    pub(crate) fn end(&self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_and_a_cut_is_noticed() {
        let values = [0.0, 1.5, 0.0, -0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -2.5];
        let mut out = Writer::default();
        out.sparse(&values);
        out.f64s(&[0.25, -1e300]);
        out.u32(7);
        let read = |bytes: &[u8]| -> Result<(Vec<f32>, Vec<f64>, u32), Malformed> {
            let mut reader = Reader(bytes);
            let all = (reader.sparse()?, reader.f64s()?, reader.u32()?);
            reader.end().map(|()| all)
        };
        let (sparse, doubles, number) = read(&out.0).unwrap();
        assert!(
            sparse
                .iter()
                .zip(values)
                .all(|(a, b)| a.to_bits() == f32::to_bits(b))
        );
        assert_eq!((doubles, number), (vec![0.25, -1e300], 7));
        for cut in 0..out.0.len() {
            assert!(read(&out.0[..cut]).is_err());
        }
        out.u32(0);
        assert!(read(&out.0).is_err());
    }
}
