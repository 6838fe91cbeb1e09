import type { Routing } from '../../actors/placement/routing.ts';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import {
  type ApplicationEmojiFact,
  createEmoji,
  deleteEmoji,
  type EmojiDraft,
  type EmojiOwner,
  renameEmoji,
} from '../../engine/application/emojis.ts';
import type { Emoji } from '../../engine/guild/expressions.ts';
import type { Outcome, Reply } from '../../engine/kernel/aggregate.ts';
import type { ApplicationId, EmojiId } from '../../protocol/ids.ts';
import type { Commit, Storage } from '../../storage/ports.ts';

interface ApplicationEmojiPorts {
  readonly storage: Pick<Storage, 'expressions'>;
  commitAsOwner(ownerId: string, facts: Commit['facts']): Promise<void>;
  readonly routing: Routing;
}

/** Changes of an application's emoji. */
export interface ApplicationEmojis {
  create(applicationId: ApplicationId, draft: EmojiDraft): Promise<Reply<Emoji>>;
  /** An absent name changes nothing. */
  rename(applicationId: ApplicationId, emojiId: EmojiId, name?: string): Promise<Reply<Emoji>>;
  delete(applicationId: ApplicationId, emojiId: EmojiId): Promise<Reply<null>>;
}

/** Changes the emoji of an application one after another, each on the owner shard of the application. */
export function createApplicationEmojis(ports: ApplicationEmojiPorts): ApplicationEmojis {
  const mutex = keyedMutex<ApplicationId>();
  const change = <Value>(
    applicationId: ApplicationId,
    decide: (owner: EmojiOwner) => Outcome<Value, ApplicationEmojiFact>,
  ): Promise<Reply<Value>> =>
    mutex(applicationId, async () => {
      const emojis = await ports.storage.expressions.ofApplication(applicationId);
      const outcome = decide({ applicationId, emojis });
      if (!outcome.ok) return outcome;
      if (outcome.facts.length > 0) await ports.commitAsOwner(applicationId, outcome.facts);
      return { ok: true, value: outcome.value };
    });

  const create: ApplicationEmojis['create'] = (id, draft) => change(id, (owner) => createEmoji(owner, draft));
  const rename: ApplicationEmojis['rename'] = (id, emojiId, name) =>
    change(id, (owner) => renameEmoji(owner, emojiId, name));
  const remove: ApplicationEmojis['delete'] = (id, emojiId) =>
    change(id, (owner) => deleteEmoji(owner, emojiId));
  return {
    create: ports.routing.ask('applicationEmojis.create', create),
    rename: ports.routing.ask('applicationEmojis.rename', rename),
    delete: ports.routing.ask('applicationEmojis.delete', remove),
  };
}
