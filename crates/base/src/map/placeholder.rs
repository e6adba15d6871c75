use super::*;
pub struct Trusted;
pub struct Keyed;
pub struct Plain<K, V>(alloc::vec::Vec<(K, V)>);
impl<K: Key, V> Map<K, V> for Plain<K, V> {
    fn new(_: u64) -> Self {
        Plain(alloc::vec::Vec::new())
    }
    fn install(&mut self, key: K, value: V) -> Option<V> {
        let old = self.erase(&key);
        self.0.push((key, value));
        old
    }
    fn erase(&mut self, key: &K) -> Option<V> {
        let p = self.0.iter().position(|(k, _)| k == key)?;
        Some(self.0.remove(p).1)
    }
    fn lookup(&self, key: &K) -> Option<&V> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }
    fn lookup_mut(&mut self, key: &K) -> Option<&mut V> {
        self.0.iter_mut().find(|(k, _)| k == key).map(|(_, v)| v)
    }
    fn iter<'a>(&'a self) -> impl Iterator<Item = (&'a K, &'a V)>
    where
        K: 'a,
        V: 'a,
    {
        self.0.iter().map(|(k, v)| (k, v))
    }
    fn len(&self) -> usize {
        self.0.len()
    }
}
macro_rules! k { ($($n:ident)*) => { $( pub struct $n<H = Trusted>(core::marker::PhantomData<H>); impl<H> Kind for $n<H> { type Of<K: Key, V> = Plain<K, V>; const SELECTED: crate::features::Map = crate::features::Map::$n; } )* } }
k!(ChainedHash ChainedHashCached OpenAddressing);
