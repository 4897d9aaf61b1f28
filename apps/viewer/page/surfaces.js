  // Surfaces coloured by value: a map among its rows, or heights that may change with time.
  let moment = 0;
  let show_moment = () => {};

  function scale_texture() {
    const pixels = new Uint8Array(4 * shown.scale.length);
    shown.scale.forEach((text, i) => {
      const colour = new THREE.Color(text);
      pixels.set([255 * colour.r, 255 * colour.g, 255 * colour.b, 255].map(Math.round), 4 * i);
    });
    const texture = new THREE.DataTexture(pixels, shown.scale.length, 1);
    texture.minFilter = texture.magFilter = THREE.LinearFilter;
    texture.needsUpdate = true;
    return texture;
  }

  // Lit by how much the surface faces the eye; its slope is that of the place from pixel to pixel.
  const surface_fragment = `
    in float shade;
    in vec3 seen_place;
    uniform sampler2D scale;
    uniform float lines;
    void main() {
      ${keep_to_section}
      vec3 normal = normalize(cross(dFdx(seen_place), dFdy(seen_place)));
      float light = lines > 0.5 ? 1.0 : 0.62 + 0.38 * abs(normal.z);
      pixel = vec4(light * texture(scale, vec2((63.0 * shade + 0.5) / 64.0, 0.5)).rgb, 1.0);
    }`;
  const finish_vertex = `
      vec4 seen = modelViewMatrix * vec4(place, 1.0);
      seen_place = seen.xyz;
      gl_Position = projectionMatrix * seen;`;

  if (shown.surface) {
    const vertices = new THREE.BufferAttribute(numbers_of(Float32Array, shown.surface.vertices), 3);
    const values = new THREE.BufferAttribute(bytes_of(shown.surface.values), 1, true);
    const vertex = `in vec3 position; in float value; out float shade; out vec3 seen_place;
      void main() { place = position; shade = value; ${finish_vertex} }`;
    const scale = { value: scale_texture() };
    const geometry_of = (indices) => {
      const geometry = new THREE.BufferGeometry();
      geometry.setAttribute("position", vertices);
      geometry.setAttribute("value", values);
      geometry.setIndex(new THREE.BufferAttribute(numbers_of(Uint32Array, indices), 1));
      return geometry;
    };
    const options = { side: THREE.DoubleSide, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 };
    const faces = new THREE.Mesh(
      geometry_of(shown.surface.triangles),
      make_material(vertex, surface_fragment, { scale, lines: { value: 0 } }, options),
    );
    const ink = { value: style_colour("--ink") };
    const lines = new THREE.LineSegments(
      geometry_of(shown.surface.lines),
      make_material(
        vertex,
        `in float shade; in vec3 seen_place; uniform vec3 ink;
         void main() { ${keep_to_section} pixel = vec4(ink, 0.55); }`,
        { ink },
        { transparent: true },
      ),
    );
    add_part(faces);
    add_part(lines);
    on_wireframe.push((on) => (faces.visible = !on));
  }

  if (shown.field) {
    const { rows, columns, times } = shown.field;
    const heights = numbers_of(Uint16Array, shown.field.heights);
    const row_places = numbers_of(Float32Array, shown.field.row_places);
    const ground = new Float32Array(2 * rows * columns);
    for (let i = 0, at = 0; i < rows; ++i)
      for (let j = 0; j < columns; ++j) {
        ground[at++] = (2 * j) / (columns - 1) - 1;
        ground[at++] = row_places.length ? row_places[i] : (2 * i) / (rows - 1) - 1;
      }
    const triangles = new Uint32Array(6 * (rows - 1) * (columns - 1));
    for (let i = 0, at = 0; i + 1 < rows; ++i)
      for (let j = 0; j + 1 < columns; ++j) {
        const a = i * columns + j, c = a + columns;
        triangles.set([a, a + 1, c, a + 1, c + 1, c], at);
        at += 6;
      }
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(ground, 2));
    const height = new THREE.BufferAttribute(heights.slice(0, rows * columns), 1, true);
    geometry.setAttribute("height", height);
    geometry.setIndex(new THREE.BufferAttribute(triangles, 1));
    const lines = { value: 0 };
    const material = make_material(
      `in vec2 position; in float height; out float shade; out vec3 seen_place;
       void main() { place = vec3(position, 2.0 * height - 1.0) * half_box; shade = height; ${finish_vertex} }`,
      surface_fragment,
      { scale: { value: scale_texture() }, lines },
      { side: THREE.DoubleSide },
    );
    const mesh = new THREE.Mesh(geometry, material);
    add_part(mesh);
    on_wireframe.push((on) => {
      material.wireframe = on;
      lines.value = on ? 1 : 0;
    });
    show_moment = (index) => {
      moment = (Math.round(index) + times.length) % times.length;
      height.array.set(heights.subarray(moment * rows * columns, (moment + 1) * rows * columns));
      height.needsUpdate = true;
    };
    show_moment(times.length - 1);
  }
