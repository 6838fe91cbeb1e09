// A step of the build: packs new databases beside the code that opens them.
import { prepare } from '../dist/storage/prepare.js';

await prepare();
