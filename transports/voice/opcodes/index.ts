import { VOICE_OP } from '../../../protocol/voice.ts';
import type { ClientBinaryOp, ClientTextOp } from '../../../protocol/voiceframing.ts';
import { backendVersion } from './backendversion.ts';
import { commitWelcome } from './commitwelcome.ts';
import { heartbeat } from './heartbeat.ts';
import { identify } from './identify.ts';
import { invalidCommitWelcome } from './invalidcommitwelcome.ts';
import { keyPackage } from './keypackage.ts';
import { mediaSinkWants } from './mediasinkwants.ts';
import { noRoute } from './noroute.ts';
import type { VoiceOpcode } from './opcode.ts';
import { resume } from './resume.ts';
import { selectProtocol } from './selectprotocol.ts';
import { sessionUpdate } from './sessionupdate.ts';
import { speaking } from './speaking.ts';
import { transitionReady } from './transitionready.ts';
import { video } from './video.ts';

/** Opcodes that clients may send. */
export const VOICE_OPCODES = {
  [VOICE_OP.IDENTIFY]: identify,
  [VOICE_OP.SELECT_PROTOCOL]: selectProtocol,
  [VOICE_OP.HEARTBEAT]: heartbeat,
  [VOICE_OP.SPEAKING]: speaking,
  [VOICE_OP.RESUME]: resume,
  [VOICE_OP.VIDEO]: video,
  [VOICE_OP.SESSION_UPDATE]: sessionUpdate,
  [VOICE_OP.MEDIA_SINK_WANTS]: mediaSinkWants,
  [VOICE_OP.VOICE_BACKEND_VERSION]: backendVersion,
  [VOICE_OP.DAVE_TRANSITION_READY]: transitionReady,
  [VOICE_OP.DAVE_MLS_KEY_PACKAGE]: keyPackage,
  [VOICE_OP.DAVE_MLS_COMMIT_WELCOME]: commitWelcome,
  [VOICE_OP.DAVE_MLS_INVALID_COMMIT_WELCOME]: invalidCommitWelcome,
  [VOICE_OP.NO_ROUTE]: noRoute,
} as const satisfies Record<ClientTextOp | ClientBinaryOp, VoiceOpcode>;
