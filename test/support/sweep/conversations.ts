import { once } from 'node:events';
import { ChannelType, type NewsChannel } from 'discord.js';
import type { Swept } from './guildthings.ts';
import type { Did } from './record.ts';

export async function sweepChannels({ client, guild, text, guestId }: Swept, did: Did): Promise<void> {
  const channels = guild.channels;
  const made = await did('GuildChannelManager.create', () => channels.create({ name: 'deck' }));
  await did('GuildChannelManager.fetch', () => channels.fetch());
  await did('GuildChannelManager.edit', () => channels.edit(made, { topic: 'Ropes' }));
  await did('GuildChannelManager.setPosition', () => channels.setPosition(made, 1));
  await did('GuildChannelManager.setPositions', () =>
    channels.setPositions([{ channel: made, position: 0 }]),
  );
  await did('ChannelManager.fetch', () => client.channels.fetch(made.id, { force: true }));
  const overwrites = made.permissionOverwrites;
  await did('PermissionOverwriteManager.create', () => overwrites.create(guestId, { SendMessages: false }));
  await did('PermissionOverwriteManager.edit', () => overwrites.edit(guestId, { AddReactions: true }));
  await did('PermissionOverwriteManager.set', () => overwrites.set([]));
  await overwrites.create(guestId, { SendMessages: true });
  await did('PermissionOverwriteManager.delete', () => overwrites.delete(guestId));
  const hook = await did('GuildChannelManager.createWebhook', () =>
    channels.createWebhook({ channel: made, name: 'Parrot' }),
  );
  await did('GuildChannelManager.fetchWebhooks', () => channels.fetchWebhooks(made));
  await did('Client.fetchWebhook', () => client.fetchWebhook(hook.id));
  const news = await channels.create({ name: 'log', type: ChannelType.GuildAnnouncement });
  await did('GuildChannelManager.addFollower', () => channels.addFollower(news, text));
  const said = await (news as NewsChannel).send('Land ahoy');
  await did('MessageManager.crosspost', () => news.messages.crosspost(said));
  await did('GuildChannelManager.fetchActiveThreads', () => channels.fetchActiveThreads());
  await did('GuildChannelManager.delete', () => channels.delete(made));
}

export async function sweepMessages({ text }: Swept, did: Did): Promise<void> {
  const { id } = await text.send('Ship');
  await did('MessageManager.fetch', () => text.messages.fetch({ message: id, force: true }));
  await did('MessageManager.edit', () => text.messages.edit(id, 'Boat'));
  await did('MessageManager.pin', () => text.messages.pin(id));
  await did('MessageManager.fetchPins', () => text.messages.fetchPins());
  await did('MessageManager.fetchPinned', () => text.messages.fetchPinned());
  await did('MessageManager.unpin', () => text.messages.unpin(id));
  await did('MessageManager.react', () => text.messages.react(id, '⚓'));
  const message = await text.messages.fetch({ message: id, force: true });
  const reaction = message.reactions.cache.first()!;
  await did('ReactionUserManager.fetch', () => reaction.users.fetch());
  await did('ReactionUserManager.remove', () => reaction.users.remove());
  await did('ReactionManager.removeAll', () => message.reactions.removeAll());
  await did('MessageManager.delete', () => text.messages.delete(id));
  const poll = {
    ...{ question: { text: 'Sail?' }, duration: 1, allowMultiselect: false },
    answers: [{ text: 'Yes' }, { text: 'No' }],
  };
  const asked = await text.send({ poll });
  const answer = asked.poll!.answers.first()!;
  await did('PollAnswerVoterManager.fetch', () => answer.voters.fetch());
  await did('MessageManager.fetchPollAnswerVoters', () =>
    text.messages.fetchPollAnswerVoters({ messageId: asked.id, answerId: answer.id }),
  );
  await did('MessageManager.endPoll', () => text.messages.endPoll(asked.id));
}

export async function sweepThreads({ guild, text, guestId }: Swept, did: Did): Promise<void> {
  const thread = await did('GuildTextThreadManager.create', () => text.threads.create({ name: 'Knots' }));
  await did('ThreadManager.fetch', () => text.threads.fetch(thread.id, { force: true }));
  await did('ThreadManager.fetchActive', () => text.threads.fetchActive());
  await did('ThreadManager.fetchArchived', () => text.threads.fetchArchived());
  await did('ThreadMemberManager.add', () => thread.members.add(guestId));
  await did('ThreadMemberManager.fetch', () => thread.members.fetch());
  await did('ThreadMemberManager.fetchMe', () => thread.members.fetchMe({ force: true }));
  await did('ThreadMemberManager.remove', () => thread.members.remove(guestId));
  const forum = await guild.channels.create({ name: 'charts', type: ChannelType.GuildForum });
  await did('GuildForumThreadManager.create', () =>
    forum.threads.create({ name: 'North', message: { content: 'Here be dragons' } }),
  );
}

export async function sweepVoice({ client, guild }: Swept, did: Did): Promise<void> {
  const stage = await guild.channels.create({ name: 'Bridge', type: ChannelType.GuildStageVoice });
  const stages = guild.stageInstances;
  await did('StageInstanceManager.create', () => stages.create(stage, { topic: 'Orders' }));
  await did('StageInstanceManager.fetch', () => stages.fetch(stage, { force: true }));
  await did('StageInstanceManager.edit', () => stages.edit(stage, { topic: 'New orders' }));
  await did('StageInstanceManager.delete', () => stages.delete(stage));
  const joined = once(client, 'voiceStateUpdate', { signal: AbortSignal.timeout(10_000) });
  const place = { guild_id: guild.id, channel_id: stage.id, self_mute: true, self_deaf: true };
  guild.shard.send({ op: 4, d: place });
  await joined;
  await did('VoiceStateManager.fetch', () => guild.voiceStates.fetch('@me', { force: true }));
  guild.shard.send({ op: 4, d: { ...place, channel_id: null } });
}

export async function sweepPeople({ client, userIds }: Swept, did: Did): Promise<void> {
  const [userId = ''] = userIds;
  await did('UserManager.fetch', () => client.users.fetch(userId, { force: true }));
  await did('UserManager.fetchFlags', () => client.users.fetchFlags(userId));
  await did('UserManager.createDM', () => client.users.createDM(userId));
  await did('UserManager.send', () => client.users.send(userId, 'Ahoy'));
  await did('UserManager.deleteDM', () => client.users.deleteDM(userId));
}

export async function sweepMembers({ guild, guestId, userIds }: Swept, did: Did): Promise<void> {
  const { members, bans } = guild;
  await did('GuildMemberManager.fetchMe', () => members.fetchMe({ force: true }));
  await did('GuildMemberManager.search', () => members.search({ query: 'a' }));
  await did('GuildMemberManager.list', () => members.list({ limit: 10 }));
  await did('GuildMemberManager.edit', () => members.edit(guestId, { nick: 'Stowaway' }));
  await did('GuildMemberManager.editMe', () => members.editMe({ nick: 'Mate' }));
  await did('GuildMemberManager.prune', () => members.prune({ dry: true, days: 7 }));
  await did('GuildMemberManager.kick', () => members.kick(guestId));
  await did('GuildMemberManager.ban', () => members.ban(guestId));
  await did('GuildMemberManager.unban', () => members.unban(guestId));
  await did('GuildMemberManager.bulkBan', () => members.bulkBan([guestId]));
  await did('GuildBanManager.fetch', () => bans.fetch({ user: guestId, force: true }));
  await did('GuildBanManager.remove', () => bans.remove(guestId));
  await did('GuildBanManager.create', () => bans.create(guestId));
  const last = userIds.at(-1)!;
  await did('GuildBanManager.bulkCreate', () => bans.bulkCreate([last]));
}
