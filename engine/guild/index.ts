import { type AuditCommands, audit } from './audit.ts';
import { type BanCommands, bans } from './bans.ts';
import { type ChannelCommands, channels } from './channels.ts';
import { type EphemeralCommands, ephemeral } from './ephemeral.ts';
import type { GuildFacts } from './facts.ts';
import { type InfoCommands, info } from './info.ts';
import { type InstallCommands, installs } from './installs.ts';
import { type InviteCommands, invites } from './invites.ts';
import { type LobbyLinkCommands, lobbyLinks } from './lobbylinks.ts';
import { type MemberCommands, members } from './members.ts';
import { type MessageCommands, messages } from './messages.ts';
import { type ReactionCommands, reactions } from './reactions.ts';
import { type RoleCommands, roles } from './roles.ts';
import { type StageCommands, stages } from './stage.ts';
import type { Topic } from './topic.ts';
import { type VoiceCommands, voice } from './voice.ts';
import { type VoiceChannelCommands, voiceChannels } from './voicechannels.ts';

/** Every command of the guild aggregate: what it takes and what it answers. */
export type GuildCommands = InfoCommands &
  ChannelCommands &
  RoleCommands &
  MemberCommands &
  BanCommands &
  InstallCommands &
  InviteCommands &
  MessageCommands &
  LobbyLinkCommands &
  ReactionCommands &
  AuditCommands &
  StageCommands &
  VoiceChannelCommands &
  VoiceCommands &
  EphemeralCommands;

/** Every topic's tables as one: the guild's rules. */
export const guildRules: Topic<GuildCommands, GuildFacts> = {
  needs: {
    ...info.needs,
    ...channels.needs,
    ...roles.needs,
    ...members.needs,
    ...bans.needs,
    ...installs.needs,
    ...invites.needs,
    ...messages.needs,
    ...lobbyLinks.needs,
    ...reactions.needs,
    ...audit.needs,
    ...stages.needs,
    ...voiceChannels.needs,
    ...voice.needs,
    ...ephemeral.needs,
  },
  decide: {
    ...info.decide,
    ...channels.decide,
    ...roles.decide,
    ...members.decide,
    ...bans.decide,
    ...installs.decide,
    ...invites.decide,
    ...messages.decide,
    ...lobbyLinks.decide,
    ...reactions.decide,
    ...audit.decide,
    ...stages.decide,
    ...voiceChannels.decide,
    ...voice.decide,
    ...ephemeral.decide,
  },
  apply: {
    ...info.apply,
    ...channels.apply,
    ...roles.apply,
    ...members.apply,
    ...bans.apply,
    ...installs.apply,
    ...invites.apply,
    ...messages.apply,
    ...lobbyLinks.apply,
    ...reactions.apply,
    ...audit.apply,
    ...stages.apply,
    ...voiceChannels.apply,
    ...voice.apply,
    ...ephemeral.apply,
  },
  dispatches: {
    ...info.dispatches,
    ...channels.dispatches,
    ...roles.dispatches,
    ...members.dispatches,
    ...bans.dispatches,
    ...installs.dispatches,
    ...invites.dispatches,
    ...messages.dispatches,
    ...lobbyLinks.dispatches,
    ...reactions.dispatches,
    ...audit.dispatches,
    ...stages.dispatches,
    ...voiceChannels.dispatches,
    ...voice.dispatches,
    ...ephemeral.dispatches,
  },
};
