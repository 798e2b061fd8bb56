# frozen_string_literal: true

require_relative "../../support/lab_case"
require_relative "../../support/canned"

class GrowthDocumentTest < LabCase
  NOTES = { "stores" => %w[memory_store tiercel:shared:], "rounds" => 2, "entry_bytes" => 100, "few" => 1_000,
            "crowd_entries" => 10_000, "crowd_bytes" => 1_024, "memory" => "PSS" }.freeze

  def row(store, entries, us, round: 0, **more)
    slices = Array.new(4) { |index| [(us * 1_000) + index, 500] }
    { "store" => store, "round" => round, "factor" => "entries", "entries" => entries, "bytes" => 100, "processes" => 1,
      "status" => "measured", "reason" => nil, "clock" => "cpu", "resident_bytes" => entries * 300,
      "processes_slices" => [{ "read" => slices, "fetch" => slices, "write" => slices }] }.merge(more)
  end

  def view(*rows)
    Lab::Tables::Growth::View.new(Canned.results(command: "growth", tables: { "growth" => [rows, NOTES] }),
                                  command: "bin/lab growth")
  end

  def both(store, entries, us) = [0, 1].map { |round| row(store, entries, us, round:) }

  def test_growth_is_the_most_by_the_least
    found = view(*both("tiercel:shared:", 1_000, 1), *both("tiercel:shared:", 1_000_000, 2))
    document = found.build
    text = Lab::Report::Markdown.render(document)
    assert_match(/From 1,000 to 1,000,000 entries a read grows 2\.00x with tiercel:shared:\./, text)
    assert_match(/^\| tiercel:shared: \| 1,000,000 \| 2\.00 us .*\| 0\.500 us \| 286 MB \| 300 \|/, text)
    assert_in_delta 2.0, found.read_growth("tiercel:shared:", from: 1_000, to: 1_000_000).estimate, 0.01
    assert_nil found.read_growth("tiercel:shared:", from: 1_000, to: 10_000_000)
    assert_match(/<svg/, Lab::Report::Html.render(document))
  end

  # 1.20x [0.92-2.24] is no growth; and a store without the largest point has a sentence of its own.
  def test_a_growth_that_is_not_decided_is_not_called_one
    noisy = [1, 3].each_with_index.map { |us, round| row("file_store", 1_000_000, us, round:) }
    sentence = view(*both("tiercel:shared:", 1_000, 1), *both("tiercel:shared:", 1_000_000, 2),
                    *both("file_store", 1_000, 2), *noisy,
                    *both("memory_store", 1_000, 2), *both("memory_store", 10_000, 3)).sentence
    assert_equal "From 1,000 to 1,000,000 entries a read grows 2.00x with tiercel:shared:; no growth of a read can " \
                 "be told with file_store. From 1,000 to 10,000 entries a read grows 1.50x with memory_store.", sentence
  end

  # A point without enough memory keeps its row, but runs no slice.
  def test_what_was_left_out_says_why
    left_out = row("memory_store", 10_000_000, 1, "status" => "cannot run", "reason" => "needs 7.45 GB of memory")
               .except("processes_slices", "resident_bytes")
    text = Lab::Report::Markdown.render(view(*both("memory_store", 1_000, 3), left_out).build)
    assert_match(/^\| memory_store \| 10,000,000 \| n\/a: cannot run: needs 7\.45 GB of memory \|/, text)
    assert_match(/Nothing could be compared/, text)
  end

  # The loop takes as long as an empty call. It has no place on a logarithmic axis, which is no error.
  def test_a_time_of_nothing_is_not_drawn
    document = view(*both("memory_store", 1_000, 0), *both("memory_store", 10_000, 0)).build
    refute_nil Lab::Report::Html.render(document)
  end
end
