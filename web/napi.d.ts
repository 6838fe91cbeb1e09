/** The N-API runtime comes without types; `sdk/call/browser/davey.ts` says what is used of it. */
declare module '@napi-rs/wasm-runtime';
