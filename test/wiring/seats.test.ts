/** Goal: the calls hear of every seat in a guild once it is durable and in order, and of the end when its actor ends. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Seats } from '../../actors/call/ports.ts';
import { guildRules } from '../../engine/guild/index.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { openHouse, until } from '../support/house.ts';

/** What the calls were told, a word each: `seated 5 in 7`, with `!` when silenced. */
class RecordingSeats implements Seats {
  readonly told: string[] = [];
  readonly #names = new Map<string, string>();

  name(id: string, name: string): void {
    this.#names.set(id, name);
  }

  seated: Seats['seated'] = ({ userId, callId, silenced }) => {
    this.told.push(`seated ${this.#of(userId)} in ${this.#of(callId)}${silenced ? '!' : ''}`);
  };
  unseated: Seats['unseated'] = (_serverId, userId) => {
    this.told.push(`unseated ${this.#of(userId)}`);
  };
  ended: Seats['ended'] = (callId) => {
    this.told.push(`ended ${this.#of(callId)}`);
  };

  #of(id: string): string {
    return this.#names.get(id) ?? id;
  }
}

let house: Awaited<ReturnType<typeof openHouse>>;
let seats: RecordingSeats;
beforeAll(async () => (await openHouse()).close(), 60_000);
afterEach(() => house.close());

const as = (userId: UserId) => ({
  by: { userId, bot: false, applicationId: null, applicationFlags: 0, reason: null },
  requires: 0n,
});
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
const call = (type: 'updateMember' | 'kickMember' | 'deleteChannel' | 'updateGuild', input: object) =>
  house.guilds.call(house.guildId, type, input as never, as(house.ownerId));

async function voiceChannel(name: string): Promise<ChannelId> {
  const made = await house.guilds.call(
    house.guildId,
    'createChannel',
    { draft: { name, type: 2 } },
    as(house.ownerId),
  );
  if (!made.ok) throw new Error('no channel');
  seats.name(made.value.id, name);
  return made.value.id;
}

/** A house with the voice channels `den` and `hall`, and the session of a person, `ann`, who is a member. */
async function arrange() {
  seats = new RecordingSeats();
  house = await openHouse({}, seats);
  const [den, hall] = [await voiceChannel('den'), await voiceChannel('hall')];
  const { user, token } = await house.operator.createUser({ username: 'ann' });
  const ann = user.id as UserId;
  seats.name(ann, 'ann');
  await house.operator.addMember({ guildId: house.guildId, userId: ann });
  const { session, sink } = await house.connect(token);
  await until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
  const ask = (channelId: ChannelId | null, guildId = house.guildId, fields: object = {}) =>
    session.updateVoiceState({
      guildId,
      channelId,
      selfMute: false,
      selfDeaf: false,
      selfVideo: false,
      ...fields,
    });
  const heard = async (...told: string[]) => {
    await until(() => seats.told.length >= told.length, told.join(', '));
    expect(seats.told.splice(0)).toEqual(told);
  };
  return { ann, den, hall, ask, heard, sink, session };
}

describe('a seat', () => {
  it('is told when it is taken, asked for again, changed, moved and left', async () => {
    const { ann, den, hall, ask, heard } = await arrange();
    ask(den);
    await heard('seated ann in den');
    ask(den);
    await heard('seated ann in den');
    ask(den, house.guildId, { selfMute: true });
    await heard('seated ann in den!');
    await call('updateMember', { userId: ann, channelId: hall });
    await heard('seated ann in hall!');
    ask(null);
    await heard('unseated ann');
  });

  it('is not told before what it rests on is durable', async () => {
    const { ann, den, ask, heard, sink } = await arrange();
    ask(den);
    await heard('seated ann in den');
    house.steer.hold = true;
    const muted = call('updateMember', { userId: ann, mute: true });
    ask(null);
    await turn();
    expect(seats.told).toEqual([]);
    house.release();
    await muted;
    await heard('seated ann in den!', 'unseated ann');
    const states = sink.dispatches.filter(({ t }) => t === 'VOICE_STATE_UPDATE').map(({ d }) => d);
    expect(states.slice(-2)).toMatchObject([{ mute: true, channel_id: den }, { channel_id: null }]);
  });

  it('falls silent with a time-out, and speaks again when that ends', async () => {
    const { ann, den, ask, heard, sink } = await arrange();
    ask(den);
    await heard('seated ann in den');
    const communicationDisabledUntil = new Date(house.clock.now() + 60_000).toISOString();
    await call('updateMember', { userId: ann, communicationDisabledUntil });
    await heard('seated ann in den!');
    const shown = () =>
      sink.dispatches
        .filter(({ t }) => t === 'VOICE_STATE_UPDATE')
        .map(({ d }) => (d as { suppress: boolean }).suppress);
    await until(() => shown().at(-1) === true, 'suppress');
    house.clock.advance(59_000);
    await turn();
    expect(seats.told).toEqual([]);
    house.clock.advance(1_100);
    await heard('seated ann in den');
    expect(shown()).toEqual([false, true, false]);
  });

  it('ends with the session that took it', async () => {
    const { den, ask, heard, session, sink } = await arrange();
    ask(den);
    await heard('seated ann in den');
    session.detach(sink, false);
    house.clock.advance(1_000);
    await heard('unseated ann');
  });

  it('of a person is one: to sit in another guild is to leave the first', async () => {
    const { ann, den, ask, heard } = await arrange();
    const other = await house.operator.createGuild({ name: 'Other', ownerId: ann });
    const made = await house.guilds.call(
      other.id as never,
      'createChannel',
      { draft: { name: 'loft', type: 2 } },
      as(ann),
    );
    if (!made.ok) throw new Error('no channel');
    seats.name(made.value.id, 'loft');
    ask(den);
    await heard('seated ann in den');
    ask(made.value.id, other.id as never);
    await heard('seated ann in loft', 'unseated ann');
  });
});

describe('the end of a call', () => {
  it('is told of a channel that is deleted, when that is durable', async () => {
    const { den, ask, heard } = await arrange();
    ask(den);
    await heard('seated ann in den');
    house.steer.hold = true;
    const deleted = call('deleteChannel', { channelId: den });
    await turn();
    expect(seats.told).toEqual([]);
    house.release();
    await deleted;
    await heard('ended den');
  });

  it('is told of a guild that is deleted', async () => {
    const { ann, den, ask, heard } = await arrange();
    ask(den);
    await heard('seated ann in den');
    const authority = { ...as(house.ownerId), by: { ...as(house.ownerId).by, system: true as const } };
    await house.guilds.call(house.guildId, 'deleteGuild', { memberIds: [ann] }, authority);
    await heard('ended den');
  });

  it('is told when the guild’s actor ends: by a bug, or by a commit that failed', async () => {
    for (const fail of ['bug', 'commit']) {
      const { ann, den, ask, heard } = await arrange();
      ask(den);
      await heard('seated ann in den');
      if (fail === 'commit') {
        house.steer.fail = true;
        // What was not durable was not told: the call ends as it was known.
        await expect(call('kickMember', { userId: ann })).rejects.toThrow('The disk is gone.');
        house.steer.fail = false;
      } else {
        const rules = guildRules.decide as { updateGuild: unknown };
        const { updateGuild } = rules;
        rules.updateGuild = () => {
          throw new Error('planted');
        };
        await expect(call('updateGuild', { draft: {} })).rejects.toThrow('planted');
        rules.updateGuild = updateGuild;
      }
      await heard('ended den');
      if (fail === 'bug') house.close();
    }
  });
});

describe('a guild with people in voice', () => {
  it('is not passivated, however quiet it is', async () => {
    const { den, ask, heard } = await arrange();
    ask(den);
    await heard('seated ann in den');
    house.clock.advance(house.foundation.config.guild_idle_ms * 3);
    await turn();
    expect(house.guilds.isResident(house.guildId)).toBe(true);
    expect(seats.told).toEqual([]);
  });
});
