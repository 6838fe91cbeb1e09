import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { CALLBACK, INTERACTION } from '../../protocol/interactions.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { Invocation } from '../../services/interactions/ports.ts';
import type { SimClient } from './client.ts';
import type { Arguments } from './command.ts';
import type { Database } from './database.ts';
import { commandOf, type SimGuild } from './founding.ts';
import type { SimShard } from './shard.ts';
import { answerOf, followUpOf, type ReceivedInteraction } from './wire.ts';
import type { World } from './world.ts';

interface InteractingPorts {
  readonly world: World;
  readonly database: Database;
  readonly clients: readonly SimClient[];
  /** Sends a call, and repeats it while its outcome is unknown. */
  readonly call: (call: Arguments) => void;
}

const UNKNOWN: Reply<never> = { ok: false, refusal: refusal('UNKNOWN_WEBHOOK') };

/** A user invokes the command of a bot in the guild; the mark is the nonce, so that a repetition is the same use. */
export function interact(
  { world, database, clients, call }: InteractingPorts,
  { id: guildId }: SimGuild,
  { id: userId }: { readonly id: UserId },
  mark: string,
  times: number,
): void {
  const isHere = (botId: string) => database.memberships.get(botId)?.has(guildId) === true;
  const applications = [...database.applications.values()].filter(({ bot_id }) => bot_id && isHere(bot_id));
  const channels = [...(database.guilds.get(guildId)?.channels.values() ?? [])].filter(
    (channel) => (channel.type as number) === 0,
  );
  const sessions = clients.filter((client) => client.userId === userId && client.life.sessionId !== null);
  if (applications.length === 0 || channels.length === 0 || sessions.length === 0) return;
  const { id: applicationId } = world.random.pick(applications);
  const invocation: Invocation = {
    ...{ type: INTERACTION.COMMAND, ownerId: guildId, guildId, channelId: world.random.pick(channels).id },
    ...{ applicationId, userId, sessionId: world.random.pick(sessions).life.sessionId ?? '', nonce: mark },
    ...{ locales: ['en-US'], messageId: null, isEphemeral: false, uploads: {} },
    data: dataOf(applicationId),
  };
  const run = (shard: SimShard) => shard.server.features.interactions.invoke(invocation);
  for (let left = times; left > 0; left -= 1)
    call({
      ...{ what: `interaction ${mark} of ${userId} with ${applicationId} in ${guildId}`, mark },
      ...{ again: true, run },
    });
}

function dataOf(applicationId: ApplicationId): Invocation['data'] {
  const { id, version, name, type } = commandOf(applicationId);
  return { id, version, name, type, options: [] };
}

/** Each session of a bot answers an interaction; the session whose answer is accepted sends a follow-up. */
export function answer(
  { call }: Pick<InteractingPorts, 'call'>,
  { id, application_id: webhookId, token }: ReceivedInteraction,
): void {
  if (token === undefined) return;
  const mark = answerOf(id);
  const callback = {
    ...{ type: CALLBACK.MESSAGE, draft: { content: mark }, attachments: [], keep: null, data: null },
  };
  const follow = async (shard: SimShard): Promise<Reply<unknown>> => {
    const target = await shard.server.features.interactions.tokenMessages.find(webhookId, token);
    if (!target?.ok) return target ?? UNKNOWN;
    return target.value.execute({
      draft: { content: followUpOf(id) },
      attachments: [],
      withComponents: false,
    });
  };
  call({
    ...{ what: `callback of ${id}`, mark, again: true },
    run: (shard) => shard.server.features.interactions.answer(id, token, callback),
    settled(fate) {
      if (fate !== 'done') return;
      call({ what: `follow-up of ${id}`, mark: followUpOf(id), again: false, run: follow });
    },
  });
}
