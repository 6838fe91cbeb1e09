/** The subset of Node's Buffer that the N-API runtime calls. */
class Bytes extends Uint8Array {
  static alloc(size: number): Bytes {
    return new Bytes(size);
  }

  /** A view of memory, like `Buffer.from(arrayBuffer)`. */
  static view(memory: ArrayBuffer, offset?: number, length?: number): Bytes {
    return new Bytes(memory, offset, length);
  }

  static isBuffer(value: unknown): boolean {
    return value instanceof Bytes;
  }
}

/**
 * Installs this class as the global `Buffer`. The N-API runtime creates Node buffers and reads the global when it
 * is loaded, so call this before importing it.
 */
export function provideBuffer(): void {
  if ('Buffer' in globalThis) return;
  Object.defineProperty(Bytes, 'from', { value: Bytes.view });
  Object.defineProperty(globalThis, 'Buffer', { value: Bytes });
}
