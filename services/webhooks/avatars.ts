import { createCache } from '../../actors/runtime/cache.ts';

interface AvatarPorts {
  /** The picture at a URL; null when there is none, or its host may not be contacted. */
  picture(url: string): Promise<Uint8Array | null>;
  /** Stores the picture as an avatar of the webhook. @returns its hash; null for bytes that are no image. */
  save(webhookId: string, bytes: Uint8Array): Promise<string | null>;
  readonly nowMs: () => number;
}

/** Avatars that requests name by a URL, for one message each. */
export interface WebhookAvatars {
  /** The hash of the picture at the URL; null when it cannot be shown. Never rejects. */
  at(webhookId: string, url: string): Promise<string | null>;
}

const PICTURES = { kept_max: 10_000, reads_max: 200 };
/** A picture is fetched again after an hour, one that could not be fetched after a minute. */
const FRESH_MS = 3_600_000;
const ABSENT_MS = 60_000;

interface Picture {
  readonly hash: string | null;
  readonly fetchedMs: number;
}

/**
 * Fetches pictures once for all messages that name them, so that readers' clients never contact the host.
 *
 * @source https://docs.discord.com/developers/resources/webhook#execute-webhook
 */
export function createWebhookAvatars({ picture, save, nowMs }: AvatarPorts): WebhookAvatars {
  const pictures = createCache<string, Picture>(async (key) => {
    const [webhookId, url] = partsOf(key);
    const bytes = await picture(url);
    return { hash: bytes && (await save(webhookId, bytes)), fetchedMs: nowMs() };
  }, PICTURES);
  return {
    async at(webhookId, url) {
      const key = `${webhookId} ${url}`;
      try {
        const known = await pictures.lookUp(key);
        const isFresh = nowMs() - known.fetchedMs < (known.hash === null ? ABSENT_MS : FRESH_MS);
        if (isFresh) return known.hash;
        pictures.forget(key);
        return (await pictures.lookUp(key)).hash;
      } catch {
        // Too many pictures are being fetched, or the store of images fails: the message is worth more than its avatar.
        return null;
      }
    },
  };
}

/** The id and the URL of a key; ids have no spaces. */
function partsOf(key: string): readonly [string, string] {
  const space = key.indexOf(' ');
  return [key.slice(0, space), key.slice(space + 1)];
}
