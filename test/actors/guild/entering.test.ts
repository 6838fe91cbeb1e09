// Goal: a new session of a guild receives what it caused itself before it could be subscribed.
import { expect, it } from 'vitest';
import { ANN, FollowingSession, LOUNGE, OwnedGuild, settleAll } from '../../support/ownedguild.ts';

async function entered(guild: OwnedGuild, ...sessions: FollowingSession[]): Promise<void> {
  const entering = guild.enter(sessions);
  await settleAll();
  guild.owner.settle();
  await entering;
}

const voiceDispatches = ({ received }: FollowingSession) =>
  received.map(({ t }) => t).filter((t) => t === 'GUILD_CREATE' || t === 'VOICE_STATE_UPDATE');

it('the voice state that a session set follows GUILD_CREATE, for this session alone and once', async () => {
  const guild = new OwnedGuild();
  const [own, other] = [new FollowingSession('a1', ANN), new FollowingSession('a2', ANN)];
  await guild.inVoice(ANN, 'a1');
  await entered(guild, own, other);
  expect([voiceDispatches(own), voiceDispatches(other)]).toEqual([
    ['GUILD_CREATE', 'VOICE_STATE_UPDATE'],
    ['GUILD_CREATE'],
  ]);
  expect(own.received.at(-1)?.d).toMatchObject({ session_id: 'a1', channel_id: LOUNGE });
  own.breakOff();
  await entered(guild, own);
  expect(voiceDispatches(own)).toEqual(['GUILD_CREATE', 'VOICE_STATE_UPDATE']);
  guild.close();
  expect(guild.faults).toEqual([]);
});

it('GUILD_CREATE lists all members of a guild that is not large, although none is in memory', async () => {
  const guild = new OwnedGuild();
  const person = new FollowingSession('a1', ANN);
  await entered(guild, person);
  expect(person.received[0]?.d).toHaveProperty('members.length', guild.rows.members.size);
  guild.close();
});
