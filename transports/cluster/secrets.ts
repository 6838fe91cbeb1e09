import type { LinkExtension } from '../../actors/cluster/ports.ts';
import { Secret } from '../../protocol/secret.ts';

/** Secrets cross links as their text: links are encrypted, and the receiving shard keeps them as secrets again. */
export const SECRETS: LinkExtension = {
  tag: 16,
  Class: Secret,
  pack: (secret: Secret) => secret.reveal(),
  unpack(text: unknown) {
    if (typeof text !== 'string') throw new TypeError('A secret is a text.');
    return new Secret(text);
  },
};
