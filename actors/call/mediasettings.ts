import type { MediaSetting } from '../../engine/call/dispatch.ts';
import type { MediaRoom } from '../../media/plane.ts';

/** Passes a setting of the call's rules to its media. */
export function applySetting(room: MediaRoom, setting: MediaSetting): void {
  switch (setting.kind) {
    case 'gate':
      room.setGate(setting.ssrc, setting.gate);
      return;
    case 'audience':
      room.setAudience(setting.ssrc, setting.only);
      return;
    case 'streams':
      room.setStreams(setting.ssrc, setting.streams);
      return;
    case 'sinkWants':
      room.setSinkWants(setting.ssrc, setting.wants);
      return;
    case 'payloadTypes':
      room.setPayloadTypes(setting.ssrc, setting.codecs);
      return;
    case 'udp':
      room.connectUdp(setting.ssrc, setting.transport);
      return;
    case 'encryptedOnly':
      room.setEncryptedOnly(setting.encryptedOnly);
      return;
    case 'leave':
      room.leave(setting.ssrc);
  }
}
