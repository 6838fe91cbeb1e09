import { type ClientOp, OP } from '../../../protocol/opcodes.ts';
import { requestChannelInfo } from './channelinfo.ts';
import { heartbeat } from './heartbeat.ts';
import { identify } from './identify.ts';
import type { Opcode } from './opcode.ts';
import { presenceUpdate } from './presenceupdate.ts';
import { requestMembers } from './requestmembers.ts';
import { resume } from './resume.ts';
import { requestSoundboardSounds } from './soundboard.ts';
import { voiceState } from './voicestate.ts';

/** What a client may send. */
export const OPCODES = {
  [OP.HEARTBEAT]: heartbeat,
  [OP.IDENTIFY]: identify,
  [OP.PRESENCE_UPDATE]: presenceUpdate,
  [OP.VOICE_STATE_UPDATE]: voiceState,
  [OP.RESUME]: resume,
  [OP.REQUEST_GUILD_MEMBERS]: requestMembers,
  [OP.REQUEST_SOUNDBOARD_SOUNDS]: requestSoundboardSounds,
  [OP.REQUEST_CHANNEL_INFO]: requestChannelInfo,
} as const satisfies Record<ClientOp, Opcode>;
