# frozen_string_literal: true

require_relative "../../support/lab_case"

class CompressorsTest < LabCase
  TABLE = Lab::Tables::Compressors::Table
  # Returns another value than the written one.
  BROKEN = Lab::Compression::Library.new("planted_broken", deflate: ->(bytes, _level) { bytes },
                                         inflate: ->(bytes) { bytes.reverse })

  def test_bytes_and_both_ways_of_what_the_libraries_make
    run_table(TABLE, "--quick", "--value", "html-1kb", "--compressor", "none,lz4_flex,zstd#level=9") do |code, command|
      assert_equal 0, code, command.out.string
      table = command.document.tables.first
      assert_equal ["zlib", "none", "lz4_flex", "zstd 9"], table.rows.map { |row| row.first.to_s }
      bytes = table.rows.to_h { |row| [row[0].to_s, row[1].value] }
      assert_equal 1_024, bytes["none"]
      assert_operator bytes["zstd 9"], :<, bytes["lz4_flex"]
      table.rows.each { |row| assert_equal %i[interval interval], [row[3].kind, row[5].kind] }
      assert_match(/\A1 KB of HTML: \S+ .*is the smallest .*the fastest to deflate/,
                   command.document.verdicts.first.sentence)
    end
  end

  def test_the_plan_leaves_out_what_takes_seconds
    plan = TABLE.new(Lab::CLI::Settings.new).plan
    names = plan.to_h { |comparison| [comparison.value.name, comparison.arms.map(&:name)] }
    assert_includes names["html-10kb"], "brotli 11"
    refute_includes names["html-100kb"], "brotli 11"
    assert_includes names["books-dump-1mb"], "brotli 9"
  end

  def test_other_bytes_are_wrong_values
    contestant = Lab::Compression.stub(:fetch, BROKEN) { Lab::Contestants.parse("compressor:planted_broken") }
    arm = Struct.new(:store, :inputs, :contestant) do
      def each_pair = [["name", "abc"]].each
    end.new(BROKEN.build, ["abc"], contestant)
    %w[deflate inflate].each do |operation|
      assert_raises(Lab::WrongValue) { Lab::Operations.fetch(operation).verify(arm) }
    end
  end

  def test_a_wrong_name_is_answered_with_the_right_ones
    assert_refused(%w[compressors --compressor zip] => /compressor "zip" is not known.*zstd/)
  end

  def test_the_article_stands_beside_the_books
    compressors = %w[zlib none].map { |name| Lab::Contestants.parse("compressor:#{name}") }
    comparison = %w[deflate inflate].map do |operation|
      Lab::Engine::Comparison.of(value: Lab::Values.fetch("books-dump-1mb"),
                                 operation: Lab::Operations.fetch(operation),
                         contestants: compressors, baseline: compressors.first)
    end
    cells = comparison.flat_map do |of_way|
      of_way.arms.map do |arm|
        cell_of(of_way, arm, [[1_000, 1_001], [1_002, 1_003]]).tap do |cell|
          cell.note("status" => "measured", "exact" => { "stored_bytes" => 500 })
        end
      end
    end
    Lab::Engine::Summary.fill(cells, protocol: TINY)
    document = Lab::Tables::Compressors::Table.report(results_of("compressors", cells:), command: "bin/lab compressors")
    article = document.tables.last
    assert_equal ["none", "1,023,931", "500", "100.0 %", "100.0 %"], article.rows.first.first(5).map(&:to_s)
    assert_equal ["35.0", "1.00x"], article.rows.last.values_at(5, 7).map(&:to_s)
  end
end
