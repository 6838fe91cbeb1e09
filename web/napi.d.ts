/** The N-API runtime has no types; `sdk/call/browser/davey.ts` declares the used part. */
declare module '@napi-rs/wasm-runtime';
