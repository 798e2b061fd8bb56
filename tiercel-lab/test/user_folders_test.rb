# frozen_string_literal: true

require_relative "support/lab_case"

class UserFoldersTest < LabCase
  def test_the_variables_of_the_specification_count
    with_env("XDG_CACHE_HOME" => "/c", "XDG_DATA_HOME" => "/d") do
      assert_equal ["/c/tiercel-lab/trees", "/d/tiercel-lab"],
                   [Lab::UserFolders.cache("trees"), Lab::UserFolders.data]
    end
  end

  def test_a_variable_without_an_absolute_path_counts_as_missing
    [nil, "", "relative"].product([nil, "", "relative"]) do |folder, home|
      with_env("XDG_CACHE_HOME" => folder, "XDG_DATA_HOME" => folder, "HOME" => home) do
        assert_equal "#{Etc.getpwuid.dir}/.cache/tiercel-lab", Lab::UserFolders.cache
        assert_equal "#{Etc.getpwuid.dir}/.local/share/tiercel-lab/results", Lab::UserFolders.data("results")
      end
    end
  end

  def test_a_user_without_a_home_is_told_the_variable
    with_env("XDG_CACHE_HOME" => nil, "HOME" => nil) do
      error = Etc.stub(:getpwuid, nil) { assert_raises(Lab::UsageError) { Lab::UserFolders.cache } }
      assert_match(/\AHOME is not set/, error.message)
    end
  end
end
