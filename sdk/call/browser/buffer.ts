/** Of Node's buffers, what the N-API runtime calls. */
class Bytes extends Uint8Array {
  static alloc(size: number): Bytes {
    return new Bytes(size);
  }

  /** A view of memory, as `Buffer.from` makes of an array buffer. */
  static view(memory: ArrayBuffer, offset?: number, length?: number): Bytes {
    return new Bytes(memory, offset, length);
  }

  static isBuffer(value: unknown): boolean {
    return value instanceof Bytes;
  }
}

/**
 * The N-API runtime hands out buffers of Node's type and takes whatever `Buffer` is when it is loaded: this, so call it
 * before.
 */
export function provideBuffer(): void {
  if ('Buffer' in globalThis) return;
  Object.defineProperty(Bytes, 'from', { value: Bytes.view });
  Object.defineProperty(globalThis, 'Buffer', { value: Bytes });
}
