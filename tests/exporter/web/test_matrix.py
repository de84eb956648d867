from exporter.view import PathView
from exporter.web.matrix import ENDS_SHOWN, Mark, Matrix, path_matrix


def test_clients_stand_down_and_servers_across():
    paths = [PathView("a:mlx5_0", "b:mlx5_0", "pass", "46 GB/s"), PathView("b:mlx5_0", "a:mlx5_0", "not_tested")]
    assert path_matrix(paths) == Matrix(
        counts=(("not_tested", 1), ("pass", 1)),
        clients=("a:mlx5_0", "b:mlx5_0"),
        servers=("a:mlx5_0", "b:mlx5_0"),
        marks=(
            Mark(1, 0, "pass", "a:mlx5_0 to b:mlx5_0, pass: 46 GB/s"),
            Mark(0, 1, "not_tested", "b:mlx5_0 to a:mlx5_0, not tested"),
        ),
    )


def test_more_ends_than_a_picture_holds_are_only_counted():
    paths = [PathView(f"a:{n}", "b:0", "pass") for n in range(ENDS_SHOWN + 1)]
    matrix = path_matrix(paths)
    assert (matrix.counts, matrix.marks, len(matrix.clients)) == ((("pass", 65),), (), 65)
