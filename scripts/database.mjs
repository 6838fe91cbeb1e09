// The last step of a build: packs an empty database beside the code that opens it.
import { prepareDatabase } from '../dist/storage/database/emptydatabase.js';

await prepareDatabase();
