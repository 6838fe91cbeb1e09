import type { Reply } from '../../engine/kernel/aggregate.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import type { PrivateCommands } from '../../engine/privatechannel/rules.ts';
import { SYSTEM_USER } from '../../engine/user/system.ts';
import { ApiError } from '../../protocol/apierror.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import type { Storage, StoredFact } from '../../storage/ports.ts';

export interface SystemMessagePorts {
  readonly storage: { readonly users: Pick<Storage['users'], 'get'> };
  readonly privates: {
    /** The channel between two users; the second sees it at once. */
    open(a: UserId, b: UserId, reaches: true): Promise<Reply<{ readonly id: ChannelId }>>;
    call(
      channelId: ChannelId,
      type: 'createMessage',
      input: PrivateCommands['createMessage']['input'],
      authority: Authority,
    ): Promise<Reply<unknown>>;
  };
  commit(ownerId: string, facts: readonly StoredFact[]): Promise<void>;
}

/** Sends a direct message of the server to a person. Resolves when it is durable. @throws ApiError for an unknown person. */
export type SendSystemMessage = (userId: UserId, content: string) => Promise<void>;

/**
 * Direct messages of the server itself. Its account is created with the first one; two shards that create it at the same
 * time write the same row.
 */
export function createSystemMessages({ storage, privates, commit }: SystemMessagePorts): SendSystemMessage {
  return async (userId, content) => {
    const [known] = await storage.users.get([SYSTEM_USER.id]);
    if (!known) await commit(SYSTEM_USER.id, [{ type: 'userCreated', user: SYSTEM_USER }]);
    const opened = await privates.open(SYSTEM_USER.id, userId, true);
    if (!opened.ok) throw new ApiError(opened.refusal);
    const { id: channelId } = opened.value;
    const draft = { content, allowed_mentions: { parse: [] } };
    const from = { fields: { author: SYSTEM_USER }, components: 'links' } as const;
    const sent = await privates.call(
      channelId,
      'createMessage',
      { channelId, draft, attachments: [], forward: null, from },
      SYSTEM,
    );
    if (!sent.ok) throw new ApiError(sent.refusal);
  };
}
