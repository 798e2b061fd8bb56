# frozen_string_literal: true

require_relative "../../support/lab_case"

class SerializersTest < LabCase
  TABLE = Lab::Tables::Serializers::Table

  def test_speed_bytes_and_losses
    run_table(TABLE, "--quick", "--value", "rows-50", "--serializer", "as_json,auto") do |code, command|
      assert_equal 0, code, command.out.string
      table = command.document.tables.first
      assert_equal %w[marshal as_json auto], table.rows.map { |row| row.first.to_s }
      table.rows.each do |row|
        assert_equal %i[number interval interval interval], row[1..4].map(&:kind), row.first.to_s
      end
      assert_equal ["as it was", "as JSON says", "as it was"], table.rows.map { |row| row.last.to_s }
      assert_equal 1, table.rows.last[6].value, "auto allocates its payload alone"
      fidelity = command.document.tables.last
      symbol = fidelity.rows.find { |row| row.first.to_s == "Symbol" }
      assert_equal %w[Symbol yes String yes], symbol.map(&:to_s)
      assert_match(/\A50 rows \(Array of Hashes\): (which|\S+ \([^)]*\)) is the fastest there and back/,
                   command.document.verdicts.first.sentence)
    end
  end

  def test_what_cannot_carry_a_value_keeps_its_row
    run_table(TABLE, "--require", PLANTED, "--value", "planted-books", "--serializer",
              "json,message_pack") do |code, command|
      assert_equal 3, code, command.out.string
      reasons = command.document.tables.first.rows.to_h { |row| [row[0].to_s, row[1].to_s] }
      assert_match(/\A[\d,]+\z/, reasons["json"], "what records say as JSON")
      assert_match(/cannot run: NoMethodError.*to_msgpack/, reasons["message_pack"])
    end
  end

  def test_the_article_stands_beside_books
    contestants = %w[marshal as_json].map { |name| Lab::Contestants.parse("serializer:#{name}") }
    cells = %w[dump load dump_load].flat_map do |operation|
      comparison = Lab::Engine::Comparison.of(value: Lab::Values.fetch("books"),
                                              operation: Lab::Operations.fetch(operation),
                                      contestants:, baseline: contestants.first)
      comparison.arms.map { |arm| cell_of(comparison, arm, [[1_000, 1_001], [1_002, 1_003]]) }
    end
    Lab::Engine::Summary.fill(cells, protocol: TINY)
    document = TABLE.report(results_of("serializers", cells:), command: "bin/lab serializers")
    article = document.tables.find { |table| table.title.include?("article") }
    assert_equal [["marshal", "63.0", "1.00x"], ["as_json", "61.5", "1.02x"]],
                 article.rows.map { |row| row.values_at(0, 1, 3).map(&:to_s) }
  end

  def test_the_users_json_is_parsed
    File.write(File.join(dir, "a.json"), '{"a":[1,2]}')
    File.write(File.join(dir, "b.txt"), "{text}")
    value = Lab::Values::Files.new(directory: dir, parse: true)
    assert_equal [{ "a" => [1, 2] }, "{text}"],
                 Lab::Values.from_spec(JSON.parse(JSON.generate(value.to_spec))).generate(1)
    assert_equal '{"a":[1,2]}', Lab::Values::Files.new(directory: dir).generate(1).first
    File.write(File.join(dir, "c.json"), "{")
    assert_raises(Lab::UsageError) { Lab::Values::Files.new(directory: dir, parse: true).generate(1) }
  end
end
