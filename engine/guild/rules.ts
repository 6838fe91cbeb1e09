import { refusal } from '../../protocol/refusal.ts';
import { aggregate, type CommandsOf } from '../kernel/aggregate.ts';
import { activities } from './activities.ts';
import { audit } from './audit.ts';
import { callerRefusal, namingFactor, withCaller } from './authorize.ts';
import { judgedNames } from './automod.profiles.ts';
import { autoModeration } from './automod.ts';
import { bans } from './bans.ts';
import { channels } from './channels.ts';
import { crosspostNews, crossposts } from './crossposts.ts';
import { emojis } from './emojis.ts';
import { ephemeral } from './ephemeral.ts';
import { incidents } from './incidents.ts';
import { info } from './info.ts';
import { installs } from './installs.ts';
import { interactions } from './interactions.ts';
import { inviteTargets } from './invites.targets.ts';
import { invites } from './invites.ts';
import { joinRequests } from './joinrequests.ts';
import { lobbyLinks } from './lobbylinks.ts';
import { members } from './members.ts';
import { memberVerification } from './memberverification.ts';
import { messages } from './messages.ts';
import { mfa } from './mfa.ts';
import { newMembers } from './newmembers.ts';
import { onboardingAnswers } from './onboarding.answers.ts';
import { onboarding } from './onboarding.ts';
import { pages } from './pages.ts';
import { polls } from './polls.ts';
import { premiumTier } from './premiumtier.ts';
import { prune } from './prune.ts';
import { reactions } from './reactions.ts';
import { roles } from './roles.ts';
import { eventConsequences } from './scheduledevents.consequences.ts';
import { eventExceptions } from './scheduledevents.exceptions.ts';
import { scheduledEvents } from './scheduledevents.ts';
import { eventUsers } from './scheduledevents.users.ts';
import { search } from './search.ts';
import { sounds } from './sounds.ts';
import { stages } from './stage.ts';
import { stickers } from './stickers.ts';
import { guildTag } from './tag.ts';
import { templates } from './templates.ts';
import { archivedThreads } from './threads.archived.ts';
import { threadConsequences } from './threads.consequences.ts';
import { threadMembers } from './threads.members.ts';
import { posts } from './threads.posts.ts';
import { threads } from './threads.ts';
import type { GuildShape } from './topic.ts';
import { vanity } from './vanity.ts';
import { voice } from './voice.ts';
import { voiceChannels, voiceConsequences } from './voicechannels.ts';
import { webhooks } from './webhooks.ts';
import { welcomeScreen } from './welcomescreen.ts';
import { widget } from './widget.ts';

const rules = aggregate<GuildShape>()({
  name: 'guild',
  missing: refusal('UNKNOWN_GUILD'),
  needs: withCaller,
  authorize: callerRefusal,
  consequences: [judgedNames, threadConsequences, voiceConsequences, eventConsequences, crosspostNews],
  topics: [
    info,
    mfa,
    premiumTier,
    channels,
    threads,
    posts,
    threadMembers,
    archivedThreads,
    roles,
    emojis,
    stickers,
    sounds,
    members,
    bans,
    memberVerification,
    joinRequests,
    autoModeration,
    prune,
    pages,
    welcomeScreen,
    widget,
    incidents,
    templates,
    onboarding,
    onboardingAnswers,
    newMembers,
    guildTag,
    installs,
    invites,
    inviteTargets,
    vanity,
    webhooks,
    crossposts,
    messages,
    search,
    lobbyLinks,
    reactions,
    polls,
    audit,
    stages,
    scheduledEvents,
    eventExceptions,
    eventUsers,
    voiceChannels,
    voice,
    ephemeral,
    activities,
    interactions,
  ],
});

/** The guild: its channels, roles, members, messages, and voice states. */
export const guildRules: typeof rules = { ...rules, decide: namingFactor(rules.decide) };

/** Every command of the guild with its input and its value. */
export type GuildCommands = CommandsOf<typeof guildRules>;
