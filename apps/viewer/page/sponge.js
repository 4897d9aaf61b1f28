  // A Menger sponge of unit faces, four bytes each: the cell and the way that the face looks.
  let order = -1;
  let build_sponge = () => {};
  const sponge_faces = (n) => 2 * 20 ** n + 4 * 8 ** n;

  if (shown.sponge) {
    // At every level of base 3, at most one of the three digits is 1.
    const in_sponge = (x, y, z, side) => {
      if (x < 0 || y < 0 || z < 0 || x >= side || y >= side || z >= side) return false;
      for (let rest = side; rest > 1; rest /= 3) {
        if ((x % 3 === 1) + (y % 3 === 1) + (z % 3 === 1) > 1) return false;
        x = (x / 3) | 0;
        y = (y / 3) | 0;
        z = (z / 3) | 0;
      }
      return true;
    };

    const faces_of = (n) => {
      const faces = new Uint8Array(4 * sponge_faces(n));
      let at = 0;
      const add = (x, y, z, looks) => {
        faces[at++] = x;
        faces[at++] = y;
        faces[at++] = z;
        faces[at++] = looks;
      };
      const side = 3 ** n;
      const visit = (x, y, z, edge) => {
        if (edge === 1) {
          if (!in_sponge(x - 1, y, z, side)) add(x, y, z, 0);
          if (!in_sponge(x + 1, y, z, side)) add(x, y, z, 1);
          if (!in_sponge(x, y - 1, z, side)) add(x, y, z, 2);
          if (!in_sponge(x, y + 1, z, side)) add(x, y, z, 3);
          if (!in_sponge(x, y, z - 1, side)) add(x, y, z, 4);
          if (!in_sponge(x, y, z + 1, side)) add(x, y, z, 5);
          return;
        }
        const third = edge / 3;
        for (let i = 0; i < 27; ++i) {
          const a = i % 3, b = ((i / 3) | 0) % 3, c = (i / 9) | 0;
          if ((a === 1) + (b === 1) + (c === 1) < 2) visit(x + a * third, y + b * third, z + c * third, third);
        }
      };
      visit(0, 0, 0, side);
      return faces;
    };

    const cells = { value: 1 };
    const uniforms = {
      cells,
      colours: { value: shown.sponge.colours.map((text) => new THREE.Color(text)) },
      inside: { value: new THREE.Color(shown.sponge.inside) },
      ink: { value: style_colour("--ink") },
    };
    // The two other axes follow the face's own in order, turned round where it looks back, so that corners run
    // counter-clockwise for who looks from outside.
    const vertex = `
      in vec2 position;
      in vec4 face;
      uniform float cells;
      uniform vec3 colours[6];
      out vec3 colour;
      void main() {
        int looks = int(face.w + 0.5);
        int axis = looks / 2;
        bool forward = looks % 2 == 1;
        vec2 corner = forward ? position : position.yx;
        vec3 step;
        step[axis] = forward ? 1.0 : 0.0;
        step[(axis + 1) % 3] = corner.x;
        step[(axis + 2) % 3] = corner.y;
        place = 2.0 * (face.xyz + step) / cells - 1.0;
        vec3 normal = vec3(0.0);
        normal[axis] = 1.0;
        float light = 0.55 + 0.45 * abs((normalMatrix * normal).z);
        colour = light * colours[looks];
        gl_Position = projectionMatrix * modelViewMatrix * vec4(place, 1.0);
      }`;
    // Where the section has cut a solid, the eye meets the inside of a face behind the cut first: that is the cut.
    const fragment = `
      in vec3 colour;
      uniform vec3 inside;
      void main() { ${keep_to_section} pixel = vec4(gl_FrontFacing ? colour : inside, 1.0); }`;
    const line_fragment = `
      in vec3 colour;
      uniform vec3 ink;
      void main() { ${keep_to_section} pixel = vec4(ink, 1.0); }`;
    const corners = new THREE.Float32BufferAttribute([0, 0, 1, 0, 1, 1, 0, 1], 2);
    const geometry_of = (indices) => {
      const geometry = new THREE.InstancedBufferGeometry();
      geometry.setAttribute("position", corners);
      geometry.setIndex(indices);
      return geometry;
    };
    const solid = new THREE.Mesh(geometry_of([0, 1, 2, 0, 2, 3]), make_material(vertex, fragment, uniforms, {}));
    const lines = new THREE.LineSegments(
      geometry_of([0, 1, 1, 2, 2, 3, 3, 0]),
      make_material(vertex, line_fragment, uniforms, {}),
    );
    lines.visible = false;
    add_part(solid);
    add_part(lines);
    on_wireframe.push((on) => {
      solid.visible = !on;
      lines.visible = on;
    });
    on_section.push((on) => {
      solid.material.side = on ? THREE.DoubleSide : THREE.FrontSide;
      solid.material.needsUpdate = true;
    });

    build_sponge = (n) => {
      n = Math.max(0, Math.min(shown.sponge.most, Math.round(n)));
      if (n === order) return;
      order = n;
      const faces = new THREE.InstancedBufferAttribute(faces_of(n), 4);
      for (const part of [solid, lines]) {
        // A geometry's number of instances is settled when it is first drawn: take a new one.
        const geometry = geometry_of(part.geometry.index);
        geometry.setAttribute("face", faces);
        geometry.instanceCount = sponge_faces(n);
        geometry.boundingSphere = part.geometry.boundingSphere;
        part.geometry.dispose();
        part.geometry = geometry;
      }
      cells.value = 3 ** n;
      element("subtitle").textContent =
        `order ${n}: ${(20 ** n).toLocaleString("en")} cubes, ${sponge_faces(n).toLocaleString("en")} faces`;
    };
  }
