import './buffer.ts';
import {
  emnapiAsyncWorkPlugin,
  emnapiTSFNPlugin,
  getDefaultContext,
  instantiateNapiModule,
  WASI,
} from '@napi-rs/wasm-runtime';
import wasmUrl from '@snazzah/davey-wasm32-wasi/davey.wasm32-wasi.wasm?url';
import type { DaveGroup } from '../sdk/voice/daveflow.ts';

export interface Davey {
  readonly DAVESession: new (version: number, userId: string, channelId: string) => DaveGroup;
  readonly VERSION: string;
}

/** The least the module declares is 979 pages of 64 KiB; what it may grow to is 512 MiB. */
const PAGES = { initial: 1000, maximum: 8192 } as const;
/** More than the runtime's record of an environment has ever needed. */
const ENVIRONMENT_BYTES = 256;

type Exports = Record<string, unknown> & {
  readonly malloc: (bytes: number) => number;
  readonly free: (pointer: number) => void;
};
type Loaded = { readonly instance: { readonly exports: Exports }; readonly module: WebAssembly.Module };
type Load = (source: Promise<Response>) => Promise<Loaded>;

/**
 * Loads the WebAssembly build of davey. It shares memory, so the page must be cross-origin isolated; no thread is
 * started, since only its verification codes would use one.
 *
 * @throws Error when the module cannot be fetched or instantiated.
 */
export async function loadDavey(): Promise<Davey> {
  const memory = new WebAssembly.Memory({ ...PAGES, shared: true });
  const source = {
    // biome-ignore lint/suspicious/noThenProperty: a thenable is given the runtime's own way of loading.
    then: (load: Load) => load(fetch(wasmUrl)).then((loaded) => withEnvironments(loaded, memory)),
  };
  const { napiModule } = await instantiateNapiModule(source as unknown as Promise<Response>, {
    context: getDefaultContext(),
    asyncWorkPoolSize: 0,
    plugins: [emnapiAsyncWorkPlugin, emnapiTSFNPlugin],
    wasi: new WASI({ version: 'preview1' }),
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
 * The runtime's second version keeps an environment's record in the module's memory and asks the module for it; the
 * module was built for the first, which did not ask. The module never looks inside, so any cleared memory will do.
 */
function withEnvironments({ instance, module }: Loaded, memory: WebAssembly.Memory): Loaded {
  const { exports } = instance;
  const create = (): number => {
    const pointer = exports.malloc(ENVIRONMENT_BYTES);
    new Uint8Array(memory.buffer, pointer, ENVIRONMENT_BYTES).fill(0);
    return pointer;
  };
  const environments = { emnapi_create_env: create, emnapi_delete_env: exports.free };
  return { module, instance: { exports: { ...environments, ...exports } } };
}
