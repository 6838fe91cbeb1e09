const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * 32-bit hash of a text: FNV-1a, then the finalizer of MurmurHash3, so that texts that differ in one digit get
 * unrelated hashes.
 */
export function hashOf(text: string, seed = 0): number {
  let hash = FNV_OFFSET ^ seed;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  return mixed(hash);
}

/** MurmurHash3's finalizer: each input bit affects each output bit; the mapping is one to one. */
export function mixed(value: number): number {
  let hash = value ^ (value >>> 16);
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * The partition of an aggregate by its decimal id, or of any other text that names something owned. Epochs in databases
 * depend on it, so it must never change.
 */
export const partitionOf = (id: string, partitions: number): number => hashOf(id) % partitions;
