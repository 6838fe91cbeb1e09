import type { Storage } from '../../storage/ports.ts';

const SECRET_BYTES = 32;

interface SecretPorts {
  readonly config: { readonly token_secret: string | null };
  readonly storage: Pick<Storage, 'settings'>;
  readonly randomBytes: (size: number) => Uint8Array;
}

/** The secret that signs links and seals values: the configured one, or one generated once and stored. */
export const serverSecret = async ({ config, storage, randomBytes }: SecretPorts): Promise<string> =>
  config.token_secret ??
  storage.settings.putIfAbsent('link_secret', Buffer.from(randomBytes(SECRET_BYTES)).toString('hex'));
