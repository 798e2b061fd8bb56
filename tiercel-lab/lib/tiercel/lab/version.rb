# frozen_string_literal: true

module Tiercel
  module Lab
    VERSION = "0.1.0"
  end
end
