  // Each group's contours as ellipsoids, brightest at their rims, and its middle as a cross.
  if (shown.groups) {
    const whole = shown.groups.filter((group) => group.axes);
    const sphere = new THREE.SphereGeometry(1, 40, 24);
    const uniforms_of = (distance) => ({ colours: { value: group_colours }, scale: { value: distance } });
    const instanced = (values, size) => new THREE.InstancedBufferAttribute(new Float32Array(values), size);
    const vertex = `
      in vec3 position;
      in vec3 centre;
      in vec3 first;
      in vec3 second;
      in vec3 third;
      in float number;
      uniform vec3 colours[8];
      uniform float scale;
      out vec3 colour;
      out vec3 towards;
      out vec3 normal;
      void main() {
        place = centre + scale * (first * position.x + second * position.y + third * position.z);
        // The normal of A u is that of the inverse of A, transposed; the columns of A are orthogonal.
        vec3 outward = first * position.x / dot(first, first) + second * position.y / dot(second, second) +
                       third * position.z / dot(third, third);
        normal = normalMatrix * outward;
        colour = colours[int(number + 0.5) % 8];
        vec4 seen = modelViewMatrix * vec4(place, 1.0);
        towards = projectionMatrix[3][3] == 0.0 ? -seen.xyz : vec3(0.0, 0.0, 1.0);
        gl_Position = projectionMatrix * seen;
      }`;
    const fragment = `
      in vec3 colour;
      in vec3 towards;
      in vec3 normal;
      uniform float lines;
      void main() {
        ${keep_to_section}
        float facing = abs(dot(normalize(normal), normalize(towards)));
        pixel = vec4(colour, lines > 0.5 ? 0.5 : mix(0.42, 0.07, pow(facing, 0.6)));
      }`;
    (shown.contours || []).forEach((contour, i) => {
      const geometry = new THREE.InstancedBufferGeometry();
      geometry.setIndex(sphere.index);
      geometry.setAttribute("position", sphere.getAttribute("position"));
      geometry.setAttribute("centre", instanced(whole.flatMap((group) => group.centre), 3));
      ["first", "second", "third"].forEach((name, axis) =>
        geometry.setAttribute(name, instanced(whole.flatMap((group) => group.axes.slice(3 * axis, 3 * axis + 3)), 3)),
      );
      geometry.setAttribute("number", instanced(whole.map((group) => group.number), 1));
      geometry.instanceCount = whole.length;
      const lines = { value: 0 };
      const material = make_material(vertex, fragment, { ...uniforms_of(contour.distance), lines }, {
        transparent: true,
        depthWrite: false,
      });
      const mesh = new THREE.Mesh(geometry, material);
      mesh.renderOrder = 1 + i;
      add_part(mesh);
      on_wireframe.push((on) => {
        material.wireframe = on;
        lines.value = on ? 1 : 0;
      });
      on_section.push((on) => {
        material.side = on ? THREE.DoubleSide : THREE.FrontSide;
        material.needsUpdate = true;
      });
    });

    const middles = new THREE.BufferGeometry();
    middles.setAttribute("position", new THREE.Float32BufferAttribute(shown.groups.flatMap((group) => group.centre), 3));
    middles.setAttribute("number", new THREE.Float32BufferAttribute(shown.groups.map((group) => group.number), 1));
    const crosses = new THREE.Points(
      middles,
      make_material(
        `in vec3 position;
         in float number;
         uniform vec3 colours[8];
         uniform float pixels;
         out vec3 colour;
         void main() {
           place = position;
           colour = colours[int(number + 0.5) % 8];
           gl_Position = projectionMatrix * modelViewMatrix * vec4(place, 1.0);
           gl_PointSize = 15.0 * pixels;
         }`,
        `in vec3 colour;
         uniform vec3 paper;
         void main() {
           ${keep_to_section}
           vec2 away = abs(2.0 * gl_PointCoord - 1.0);
           if (min(away.x, away.y) > 0.36) discard;
           bool inside = min(away.x, away.y) < 0.18 && max(away.x, away.y) < 0.84;
           pixel = vec4(inside ? 0.75 * colour : paper, 1.0);
         }`,
        { colours: { value: group_colours }, pixels: pixels_a_point, paper: { value: style_colour("--paper") } },
        { depthTest: false, transparent: true },
      ),
    );
    crosses.renderOrder = 8;
    add_part(crosses);
  }
