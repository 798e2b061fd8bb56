# frozen_string_literal: true

require_relative "../support/lab_case"

class UserFileTest < LabCase
  def test_a_file_that_cannot_be_loaded_is_an_invalid_command_line
    { "x = 1\nraise \"boom\"" => /boom \(RuntimeError\) in line 2$/,
      "exit 0" => /exit \(SystemExit\) in line 1$/,
      "def x(" => /\(SyntaxError\)/, "require \"no_such_gem\"" => /cannot load such file -- no_such_gem/ }
      .each do |text, words|
      Dir.mktmpdir do |folder|
        file = File.join(folder, "mine.rb")
        File.write(file, text)
        code, out, err = lab("compare", "--require", file, "--plan")
        assert_equal [2, ""], [code, out], text
        assert_match(/--require #{file}: /, err)
        assert_match words, err
      end
    end
  end

  def test_what_a_file_prints_does_not_mix_with_the_output
    file = File.join(dir, "loud.rb")
    File.write(file, "puts 'loud'\nsystem('echo louder')\n")
    out, err = capture_subprocess_io { assert_equal 0, lab("compare", "--require", file, "--plan").first }
    assert_equal ["", "loud\nlouder\n"], [out, err]
  end

  def test_a_folder_is_no_file
    assert_match(/file does not exist/, lab("gate", "--require", __dir__, "--plan")[2])
  end
end
