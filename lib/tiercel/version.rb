# frozen_string_literal: true

module Tiercel
  VERSION = "0.1.0"
end
