import { resource } from '../operation.ts';

export const lobbies = resource({});

export const lobbiesBeyond = resource({});
