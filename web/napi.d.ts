/** The part of the N-API runtime that is used; it comes without types. */
declare module '@napi-rs/wasm-runtime' {
  type Imports = Record<'env' | 'napi' | 'emnapi', Record<string, unknown>>;

  export class WASI {
    constructor(options: { readonly version: 'preview1' });
  }
  export const emnapiAsyncWorkPlugin: unknown;
  export const emnapiTSFNPlugin: unknown;
  export function getDefaultContext(): unknown;
  export function instantiateNapiModule(
    source: Promise<Response>,
    options: {
      readonly context: unknown;
      readonly asyncWorkPoolSize: number;
      readonly plugins: readonly unknown[];
      readonly wasi: WASI;
      readonly overwriteImports: (imports: Imports) => Record<string, Record<string, unknown>>;
      readonly beforeInit: (loaded: { readonly instance: { readonly exports: object } }) => void;
    },
  ): Promise<{ readonly napiModule: { readonly exports: unknown } }>;
}
