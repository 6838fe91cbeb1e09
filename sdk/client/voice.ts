import type { Core } from './core.ts';

/** Calls of lobbies: see `Calls`. */
export function voice({ calls }: Core) {
  return {
    startCall: calls.startCall.bind(calls),
    startCallWithAudioCallbacks: calls.startCallWithAudioCallbacks.bind(calls),
    endCall: calls.endCall.bind(calls),
    endCalls: calls.endCalls.bind(calls),
    getCall: calls.getCall.bind(calls),
    getCalls: calls.getCalls.bind(calls),
    getSelfMuteAll: calls.getSelfMuteAll.bind(calls),
    setSelfMuteAll: calls.setSelfMuteAll.bind(calls),
    getSelfDeafAll: calls.getSelfDeafAll.bind(calls),
    setSelfDeafAll: calls.setSelfDeafAll.bind(calls),
    getInputVolume: calls.getInputVolume.bind(calls),
    setInputVolume: calls.setInputVolume.bind(calls),
    getOutputVolume: calls.getOutputVolume.bind(calls),
    setOutputVolume: calls.setOutputVolume.bind(calls),
    getInputDevices: calls.getInputDevices.bind(calls),
    getOutputDevices: calls.getOutputDevices.bind(calls),
    getCurrentInputDevice: calls.getCurrentInputDevice.bind(calls),
    getCurrentOutputDevice: calls.getCurrentOutputDevice.bind(calls),
    setInputDevice: calls.setInputDevice.bind(calls),
    setOutputDevice: calls.setOutputDevice.bind(calls),
    setDeviceChangeCallback: calls.setDeviceChangeCallback.bind(calls),
    setEchoCancellation: calls.setEchoCancellation.bind(calls),
    setNoiseSuppression: calls.setNoiseSuppression.bind(calls),
    setAutomaticGainControl: calls.setAutomaticGainControl.bind(calls),
    setNoAudioInputThreshold: calls.setNoAudioInputThreshold.bind(calls),
    setNoAudioInputCallback: calls.setNoAudioInputCallback,
    setVoiceParticipantChangedCallback: calls.setVoiceParticipantChangedCallback,
    getDefaultAudioDeviceId: calls.getDefaultAudioDeviceId.bind(calls),
  };
}
