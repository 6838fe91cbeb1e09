/** The worker of the game's page that has the keys. */
import { serveCallWorker } from '../../sdk/index.ts';

await serveCallWorker({
  wasmUrl: '/game/davey.wasm',
  loadRuntime: () => import('@napi-rs/wasm-runtime'),
});
