import type { DaveGroup } from '../../voice/daveflow.ts';
import { provideBuffer } from './buffer.ts';

interface Davey {
  readonly DAVESession: new (version: number, userId: string, channelId: string) => DaveGroup;
  readonly VERSION: string;
}

/** Memory limits in pages of 64 KiB: the module declares a minimum of 979; the maximum is 512 MiB. */
const PAGES = { initial: 1000, maximum: 8192 } as const;
/** Bytes for the runtime's environment record; larger than any known record. */
const ENVIRONMENT_BYTES = 256;

interface Memory {
  readonly buffer: ArrayBuffer;
}
/** The part of the WebAssembly API used here. */
interface Assembly {
  readonly Memory: new (pages: typeof PAGES & { readonly shared: true }) => Memory;
}

type Exports = Record<string, unknown> & {
  readonly malloc: (bytes: number) => number;
  readonly free: (pointer: number) => void;
};
type Loaded = { readonly instance: { readonly exports: Exports }; readonly module: unknown };
type Load = (source: Promise<Response>) => Promise<Loaded>;

/** The part of the package `@napi-rs/wasm-runtime` used here; the package has no types. */
interface Runtime {
  readonly WASI: new (options: { readonly version: 'preview1' }) => unknown;
  readonly emnapiAsyncWorkPlugin: unknown;
  readonly emnapiTSFNPlugin: unknown;
  getDefaultContext(): unknown;
  instantiateNapiModule(
    source: object,
    options: {
      readonly context: unknown;
      readonly asyncWorkPoolSize: number;
      readonly plugins: readonly unknown[];
      readonly wasi: unknown;
      overwriteImports(imports: Record<'env' | 'napi' | 'emnapi', Imports>): Record<string, Imports>;
      beforeInit(loaded: { readonly instance: { readonly exports: object } }): void;
    },
  ): Promise<{ readonly napiModule: { readonly exports: unknown } }>;
}
type Imports = Record<string, unknown>;

/** Packages for DAVE encryption. The application names them so that its bundler finds them. */
export interface DaveySource {
  /** URL of `davey.wasm32-wasi.wasm` from the package `@snazzah/davey-wasm32-wasi`. */
  readonly wasmUrl: string;
  /** `() => import('@napi-rs/wasm-runtime')`; a function, because the package reads globals when it is loaded. */
  readonly loadRuntime: () => Promise<unknown>;
}

/**
 * Loads the WebAssembly build of davey. It uses shared memory, so the page must be cross-origin isolated. No
 * threads are started: only verification codes would need them.
 *
 * @throws Error when the module cannot be fetched or instantiated.
 */
export async function loadDavey({ wasmUrl, loadRuntime }: DaveySource): Promise<Davey> {
  provideBuffer();
  const runtime = (await loadRuntime()) as Runtime;
  const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: Assembly };
  const memory = new WebAssembly.Memory({ ...PAGES, shared: true });
  const source = {
    // biome-ignore lint/suspicious/noThenProperty: the runtime awaits a thenable to control loading.
    then: (load: Load) => load(fetch(wasmUrl)).then((loaded) => withEnvironments(loaded, memory)),
  };
  const { napiModule } = await runtime.instantiateNapiModule(source, {
    context: runtime.getDefaultContext(),
    asyncWorkPoolSize: 0,
    plugins: [runtime.emnapiAsyncWorkPlugin, runtime.emnapiTSFNPlugin],
    wasi: new runtime.WASI({ version: 'preview1' }),
    overwriteImports: (imports) => ({
      ...imports,
      env: { ...imports.env, ...imports.napi, ...imports.emnapi, memory },
    }),
    beforeInit({ instance }) {
      for (const [name, register] of Object.entries(instance.exports)) {
        if (name.startsWith('__napi_register__')) (register as () => void)();
      }
    },
  });
  return napiModule.exports as Davey;
}

/**
 * Version 2 of the runtime allocates its environment record by an export of the module. The module was built for
 * version 1 and lacks the export; it never reads the record, so zeroed memory suffices.
 */
function withEnvironments({ instance, module }: Loaded, memory: Memory): Loaded {
  const { exports } = instance;
  const create = (): number => {
    const pointer = exports.malloc(ENVIRONMENT_BYTES);
    new Uint8Array(memory.buffer, pointer, ENVIRONMENT_BYTES).fill(0);
    return pointer;
  };
  const environments = { emnapi_create_env: create, emnapi_delete_env: exports.free };
  return { module, instance: { exports: { ...environments, ...exports } } };
}
