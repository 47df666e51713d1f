// Plays a file's last animation in three.js and prints the world matrices of all its nodes as JSON.
// node playback.mjs FILE '[times]' [MOTION.vrma]
// With a .vrma, FILE is a VRM avatar that plays it through three-vrm. Lies beside the node_modules it needs.
import { readFileSync } from 'node:fs';
import * as THREE from 'three';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';

const [file, list, motion] = process.argv.slice(2);
globalThis.self ??= globalThis;
globalThis.ProgressEvent ??= class {};
console.error = console.warn = () => {}; // textures have no canvas here, and nobody looks at them

async function load(name, plugins) {
  const bytes = readFileSync(name);
  const loader = new GLTFLoader();
  for (const plugin of plugins) loader.register(plugin);
  const whole = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  return new Promise((done, failed) => loader.parse(whole, '', done, failed));
}

const plugins = [];
let clipFor;
if (motion) {
  const { VRMLoaderPlugin } = await import('@pixiv/three-vrm');
  const { VRMAnimationLoaderPlugin, createVRMAnimationClip } = await import('@pixiv/three-vrm-animation');
  plugins.push((parser) => new VRMLoaderPlugin(parser));
  const vrma = (await load(motion, [(parser) => new VRMAnimationLoaderPlugin(parser)])).userData.vrmAnimations[0];
  clipFor = (vrm) => createVRMAnimationClip(vrma, vrm);
}
const gltf = await load(file, plugins);
const vrm = gltf.userData.vrm;
const root = gltf.scene;
root.traverse((object) => {
  // three.js binds tracks by name, and names a mesh's second primitive as if it were a node of that name.
  if (gltf.parser.associations.get(object)?.nodes === undefined) object.name = object.uuid;
});
const mixer = new THREE.AnimationMixer(root);
const clip = motion ? clipFor(vrm) : gltf.animations[gltf.animations.length - 1];
const action = mixer.clipAction(clip);
action.setLoop(THREE.LoopOnce);
action.clampWhenFinished = true;
action.play();

const nodes = new Map();
root.traverse((object) => {
  const place = gltf.parser.associations.get(object);
  if (place?.nodes !== undefined) nodes.set(place.nodes, object);
});
const frames = [];
for (const time of JSON.parse(list)) {
  action.reset();
  mixer.setTime(time);
  vrm?.humanoid.update();
  root.updateMatrixWorld(true);
  vrm?.nodeConstraintManager?.update();
  root.updateMatrixWorld(true);
  const found = {};
  for (const [index, object] of nodes) found[index] = Array.from(object.matrixWorld.elements);
  frames.push(found);
}
process.stdout.write(JSON.stringify({ tracks: clip.tracks.length, seconds: clip.duration, frames }));
