import { createRequire } from 'node:module';

/** The part of `discord-rpc` 4 that is used; the package has no types. */
interface ClassicRpc {
  login(options: object): Promise<unknown>;
  request(command: string, args?: object, event?: string): Promise<Readonly<Record<string, unknown>>>;
  setActivity(activity: object): Promise<unknown>;
  clearActivity(): Promise<unknown>;
  subscribe(event: string, args: object): Promise<unknown>;
  on(event: string, listener: (data: unknown) => void): void;
  destroy(): Promise<void>;
  readonly user: { readonly username: string } | null;
  readonly fetch: { endpoint: string };
}

/** Unmodified `discord-rpc`. */
export const classicRpc = createRequire(import.meta.url)('discord-rpc') as {
  readonly Client: new (options: { readonly transport: 'ipc' }) => ClassicRpc;
};
