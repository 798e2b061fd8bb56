# frozen_string_literal: true
# suites: kernel
# quick

require "open3"
require "test_helper"

# segment-layout.md has the offsets that the compiler gives the fields in layout.h.
class SegmentLayoutTest < Tiercel::TestCase
  FOLDER = File.expand_path("../../ext/tiercel/segment", __dir__)
  # Each table of the page whose first column has offsets, in order.
  STRUCTS = %w[tseg_header tseg_process tseg_lease_group tseg_lease_slot tseg_shard].freeze

  def test_fields_are_where_the_page_says
    tables = File.read("#{FOLDER}/segment-layout.md").scan(/^\| offset.*?\n\n/m).first(STRUCTS.size)
    written = tables.map { |table| table.scan(/^\| (\d[\d, ]*) \|/).flat_map { |(cell)| cell.split(", ").map(&:to_i) } }
    assert_equal STRUCTS.zip(written), STRUCTS.zip(compiled)
  end

  private

  def compiled
    prints = STRUCTS.map { |struct| %(#{fields(struct).map { |field| print(struct, field) }.join} puts("");) }
    program = "#include <stdio.h>\n#include \"layout.h\"\nint main(void) { #{prints.join("\n")} }\n"
    with_tmpdir do |directory|
      output, status = Open3.capture2e("cc", "-std=gnu11", "-I#{FOLDER}", "-xc", "-", "-o", "#{directory}/offsets",
                                       stdin_data: program)
      assert_predicate status, :success?, output
      IO.popen("#{directory}/offsets", &:readlines).map { |line| line.split.map(&:to_i) }
    end
  end

  def print(struct, field) = %(printf("%zu ", offsetof(#{struct}, #{field}));)

  def fields(struct)
    code = File.read("#{FOLDER}/layout.h").gsub(%r{/\*.*?\*/}m, "")
    code[/typedef struct \{([^}]*)\} #{struct};/, 1].scan(/(\w+)(?:\[[^;]*\])?;/).flatten
  end
end
