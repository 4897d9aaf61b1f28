"""Tables of docs/sponge.md, from what bench/sponge.cpp measured."""


def picture_of(made, order, sky_rays):
    return next(each for each in made["pictures"] if (each["order"], each["sky_rays"]) == (order, sky_rays))


def pictures_text(host, gpu):
    rows = ["| 1920 × 1080, one light | sky rays | two cores, ms | a GPU, ms | its kernel, ms |", "|---|---|---|---|---|"]
    for each in host["host_pictures"]:
        order, sky_rays = each["order"], each["sky_rays"]
        kernel = next((one["milliseconds"] for one in gpu["kernels"] if (one["order"], one["sky_rays"]) == (order, sky_rays)), None)
        rows.append(
            f"| order {order} | {sky_rays} | {1e3 * each['seconds']:.3g} | "
            f"{1e3 * picture_of(gpu, order, sky_rays)['seconds']:.3g} | {f'{kernel:.3g}' if kernel else ''} |"
        )
    return "\n".join([*rows, "", f"({host['processor']}; {gpu['processor']}; {host['date']}.)"])


def meshes_text(host):
    rows = ["| order 5 | bytes | ms | of a pipe's rate | of `cat`'s |", "|---|---|---|---|---|"]
    for each in host["mesh_files"]:
        rows.append(
            f"| `.{each['format']}` | {each['bytes']:,} | {1e3 * each['seconds']:.3g} | "
            f"{100 * each['share_of_pipe']:.0f} % | {100 * each['share_of_cat']:.0f} % |"
        )
    return "\n".join([*rows, "", f"({host['processor']}; {host['largest_memory_bytes'] / 2**20:.0f} MB of memory.)"])
