// Goal: a message that only one person sees is read, edited and removed by that person and the application alone.
import { describe, expect, it } from 'vitest';
import type {
  EphemeralMessage,
  Interaction,
  InteractionFact,
} from '../../../engine/interaction/interaction.ts';
import type { ChannelId, GuildId, MessageId, UserId } from '../../../protocol/ids.ts';
import { EphemeralMessages } from '../../../services/interactions/ephemeral.ts';
import type { Invoker, InvokerDispatch } from '../../../services/interactions/invoker.ts';

const [ANN, BOB] = ['2', '3'] as UserId[] as [UserId, UserId];
const [GUILD, CHANNEL, MESSAGE] = ['7', '8', '60'] as [GuildId, ChannelId, MessageId];
const PLACE = { ownerId: GUILD, guildId: GUILD, channelId: CHANNEL };
const OF_ANN = { ...PLACE, id: '5', applicationId: '1', userId: ANN } as unknown as Interaction;
const UNKNOWN = { ok: false, refusal: { code: 10_008 } };

/** A stored message that the application has sent to Ann. */
function arrange() {
  const stored = {
    ...{ ownerId: GUILD, interactionId: '5', applicationId: '1', userId: ANN, files: [], isGone: false },
    message: { id: MESSAGE, channel_id: CHANNEL },
  } as unknown as EphemeralMessage;
  const facts: InteractionFact[] = [];
  const sent: (readonly [UserId, string])[] = [];
  const messages = new EphemeralMessages({
    store: { ephemeral: async (_: string, id: MessageId) => (id === MESSAGE ? stored : null) },
    commit: async (
      { userId }: Invoker,
      committed: readonly InteractionFact[],
      dispatches: readonly InvokerDispatch[],
    ) => {
      facts.push(...committed);
      sent.push(...dispatches.map(({ t }) => [userId, t] as const));
    },
    notify: (userId: UserId, t: string) => void sent.push([userId, t]),
  } as never);
  return { messages, facts, sent };
}

describe('an ephemeral message', () => {
  it('can be dismissed by its reader', async () => {
    const { messages, facts, sent } = arrange();
    expect(await messages.dismiss(PLACE, MESSAGE, ANN)).toEqual({ ok: true, value: null });
    expect(facts).toMatchObject([{ ephemeral: { isGone: true } }]);
    expect(sent).toEqual([[ANN, 'MESSAGE_DELETE']]);
  });

  it('cannot be dismissed by another user, or in another channel', async () => {
    const { messages, facts, sent } = arrange();
    expect(await messages.dismiss(PLACE, MESSAGE, BOB)).toMatchObject(UNKNOWN);
    const elsewhere = { ...PLACE, channelId: '9' as ChannelId };
    expect(await messages.dismiss(elsewhere, MESSAGE, ANN)).toMatchObject(UNKNOWN);
    expect([facts, sent]).toEqual([[], []]);
  });

  it('cannot be read or deleted by interactions of other users and applications', async () => {
    const { messages, facts, sent } = arrange();
    expect(await messages.get(OF_ANN, MESSAGE)).toMatchObject({ userId: ANN });
    const others = [
      { ...OF_ANN, userId: BOB },
      { ...OF_ANN, applicationId: '4' },
    ] as Interaction[];
    for (const other of others) {
      expect(await messages.get(other, MESSAGE)).toBeNull();
      expect(await messages.remove(other, MESSAGE)).toMatchObject(UNKNOWN);
    }
    expect([facts, sent]).toEqual([[], []]);
  });
});
