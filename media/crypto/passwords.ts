import { createRequire } from 'node:module';

type Done = (error: Error | null) => void;
/** The calls used of sodium-native, which brings no types. Their work is done on the thread pool. */
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

/** About a tenth of a second of one core. @source libsodium's `INTERACTIVE` limits; above OWASP's minimum of 19 MiB */
const COST: PasswordCost = { passes: 2, memoryBytes: 64 << 20 };
/** Hashes at one time: of the four threads that files and names are read on too, two. */
const RUNNING_MAX = 2;
/** Hashes that may wait: some five seconds. */
const WAITING_MAX = 100;

/** Argon2id over passwords, off the main thread. */
interface PasswordHasher {
  /** Hashes that wait for their turn, and how many may. */
  readonly waiting: { readonly count: number; readonly max: number };
  /** Null when too many wait. The password is not empty. */
  hash(password: string): Promise<string | null>;
  /** Null when too many wait; false for a text that is no hash. */
  verify(hash: string, password: string): Promise<boolean | null>;
  isDated(hash: string): boolean;
}

/** In a buffer as the library wants it: its text form, filled up with zeros. */
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

  /** Runs one hash when it is its turn; the password's bytes are gone afterwards. */
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
