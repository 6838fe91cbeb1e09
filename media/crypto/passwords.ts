import { createRequire } from 'node:module';

type Done = (error: Error | null) => void;
/** The functions used of sodium-native, which ships no types. The `_async` ones run on the thread pool. */
interface Sodium {
  readonly crypto_pwhash_STRBYTES: number;
  crypto_pwhash_str_async(
    hash: Buffer,
    password: Buffer,
    opslimit: number,
    memlimit: number,
    done: Done,
  ): void;
  crypto_pwhash_str_verify_async(
    hash: Buffer,
    password: Buffer,
    done: (error: Error | null, fits: boolean) => void,
  ): void;
  crypto_pwhash_str_needs_rehash(hash: Buffer, opslimit: number, memlimit: number): boolean;
  sodium_memzero(bytes: Buffer): void;
}
const sodium = createRequire(import.meta.url)('sodium-native') as Sodium;

interface PasswordCost {
  /** Passes over the memory. */
  readonly passes: number;
  readonly memoryBytes: number;
}

/**
 * About 0.1 s of one core.
 *
 * @source https://doc.libsodium.org/password_hashing/default_phf; the `INTERACTIVE` limits, above the minimum of 19 MiB
 * in https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html
 */
const COST: PasswordCost = { passes: 2, memoryBytes: 64 << 20 };
/** Concurrent hashes: two of the four pool threads, which file reads and DNS look-ups use too. */
const RUNNING_MAX = 2;
/** Hashes that may wait: about five seconds of work. */
const WAITING_MAX = 100;

/** Hashes and verifies passwords with Argon2id, off the main thread. */
interface PasswordHasher {
  /** Number of queued hashes, and its maximum. */
  readonly waiting: { readonly count: number; readonly max: number };
  /** Returns the hash, or null when the queue is full. The password must not be empty. */
  hash(password: string): Promise<string | null>;
  /** Whether the password matches; null when the queue is full, false when `hash` is not an Argon2 hash. */
  verify(hash: string, password: string): Promise<boolean | null>;
  isDated(hash: string): boolean;
}

/** The hash in a zero-padded buffer of fixed size, as libsodium expects it. */
function stored(hash: string): Buffer | null {
  const bytes = Buffer.alloc(sodium.crypto_pwhash_STRBYTES);
  if (!hash.startsWith('$argon2') || hash.length >= bytes.length) return null;
  bytes.write(hash, 'latin1');
  return bytes;
}

/** Makes and checks password hashes; `cost` is smaller in tests. */
export function createPasswordHasher(cost: PasswordCost = COST): PasswordHasher {
  const { passes, memoryBytes } = cost;
  const waiting: (() => void)[] = [];
  let running = 0;

  function next(): void {
    running -= 1;
    waiting.shift()?.();
  }

  /** Queues one hash, and erases the password's bytes when it has run. */
  function inLine<T>(
    password: string,
    run: (bytes: Buffer, done: (value: T) => void) => void,
  ): Promise<T | null> {
    if (running >= RUNNING_MAX && waiting.length >= WAITING_MAX) return Promise.resolve(null);
    return new Promise((resolve, reject) => {
      const bytes = Buffer.from(password, 'utf8');
      const start = () => {
        running += 1;
        try {
          run(bytes, (value) => {
            sodium.sodium_memzero(bytes);
            next();
            resolve(value);
          });
        } catch (error) {
          next();
          reject(error);
        }
      };
      if (running < RUNNING_MAX) start();
      else waiting.push(start);
    });
  }

  return {
    get waiting() {
      return { count: waiting.length, max: WAITING_MAX };
    },

    async hash(password) {
      const hash = Buffer.alloc(sodium.crypto_pwhash_STRBYTES);
      const error = await inLine<Error | 'made'>(password, (bytes, done) =>
        sodium.crypto_pwhash_str_async(hash, bytes, passes, memoryBytes, (failure) =>
          done(failure ?? 'made'),
        ),
      );
      if (error instanceof Error) throw error;
      return error === null ? null : hash.toString('latin1').replace(/\0+$/, '');
    },

    async verify(hash, password) {
      const bytes = stored(hash);
      if (bytes === null || password === '') return false;
      return inLine<boolean>(password, (given, done) =>
        sodium.crypto_pwhash_str_verify_async(bytes, given, (error, fits) => done(error === null && fits)),
      );
    },

    isDated(hash) {
      const bytes = stored(hash);
      return bytes === null || sodium.crypto_pwhash_str_needs_rehash(bytes, passes, memoryBytes);
    },
  };
}
