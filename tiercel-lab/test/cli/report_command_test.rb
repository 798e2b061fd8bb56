# frozen_string_literal: true

require_relative "../support/lab_case"
require_relative "../support/canned"

class ReportCommandTest < LabCase
  def results(cpu, baseline:, store:)
    cells = Canned.cells(compare("memory_store", "tiercel:memory:"), "memory_store" => baseline,
                         "tiercel:memory:" => store)
    Canned.results(command: "compare", cells:).tap { |document| document["environment"]["cpu"] = cpu }
  end

  def files(*documents)
    Dir.mktmpdir do |folder|
      paths = documents.each_with_index.map do |document, index|
        File.join(folder, "#{index}.json").tap { |path| File.write(path, JSON.generate(document)) }
      end
      yield paths, folder
    end
  end

  def render(*arguments)
    code, out, = lab("report", *arguments)
    assert_equal 0, code
    out
  end

  def test_one_file_is_rendered_and_several_are_refused
    files(results("Old", baseline: 4_000, store: 2_000)) do |paths, _folder|
      assert_match(/memory_store/, render(paths.first))
      code, _out, err = lab("report", *paths, *paths)
      assert_equal 2, code
      assert_match(/name one file/, err)
    end
  end

  def test_what_is_no_result_is_called_so
    { "\xFF\x00\x80\n" * 9 => /line 1 is no JSON/, "" => /empty/, **%w[5 [1]].to_h { |one| [one, /line 1 is no JSON/] },
      %({"schema":"tiercel-lab/1"}) => /JSON, but not a result/, %({"schema":"other/1"}) => /JSON, but not a result/,
      %({"schema":"tiercel-lab/99","run":{"command":"compare"}}) => /JSON, but not a result/ }.each do |bytes, words|
      Dir.mktmpdir do |folder|
        path = File.join(folder, "it").tap { |name| File.binwrite(name, bytes) }
        code, _out, err = lab("report", path)
        assert_equal 2, code, bytes.inspect
        assert_match(words, err)
        assert_includes err, path
      end
    end
  end

  # A killed run may end in the middle of a character.
  def test_half_a_character_in_the_last_line
    files(results("Old", baseline: 4_000, store: 2_000)) do |paths, _folder|
      File.write(paths.first, "\n{\"type\": \"\xE2\x80", mode: "ab")
      assert_match(/memory_store/, render(paths.first))
    end
  end
end
