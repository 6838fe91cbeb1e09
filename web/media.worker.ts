/** The worker that holds the encryption keys; every frame passes through it, in both directions. */
import wasmUrl from '@snazzah/davey-wasm32-wasi/davey.wasm32-wasi.wasm?url';
import { serveCallWorker } from '../sdk/call/browser/worker.ts';

await serveCallWorker({ wasmUrl, loadRuntime: () => import('@napi-rs/wasm-runtime') });
