import { type ClientOp, OP, type UserClientOp } from '../../../protocol/opcodes.ts';
import { requestChannelInfo } from './channelinfo.ts';
import { heartbeat } from './heartbeat.ts';
import { identify } from './identify.ts';
import { lobbyVoiceServerPing } from './lobbyvoiceserverping.ts';
import { lobbyVoiceStates } from './lobbyvoicestates.ts';
import type { Opcode } from './opcode.ts';
import { presenceUpdate } from './presenceupdate.ts';
import { requestMembers } from './requestmembers.ts';
import { resume } from './resume.ts';
import { requestSoundboardSounds } from './soundboard.ts';
import { streamCreate } from './streamcreate.ts';
import { streamDelete } from './streamdelete.ts';
import { streamPing } from './streamping.ts';
import { streamSetPaused } from './streamsetpaused.ts';
import { streamWatch } from './streamwatch.ts';
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

/** What only people may send. */
export const USER_OPCODES = {
  [OP.LOBBY_VOICE_STATES]: lobbyVoiceStates,
  [OP.STREAM_CREATE]: streamCreate,
  [OP.STREAM_DELETE]: streamDelete,
  [OP.STREAM_WATCH]: streamWatch,
  [OP.STREAM_PING]: streamPing,
  [OP.STREAM_SET_PAUSED]: streamSetPaused,
  [OP.LOBBY_VOICE_SERVER_PING]: lobbyVoiceServerPing,
} as const satisfies Record<UserClientOp, Opcode>;
